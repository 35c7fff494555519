#pragma once

// Is this machine healthy? Its GPUs, and the links between them, held against all that is known
// of healthy ones (engine.hpp). Pure functions.
//
// Rules of a GPU, by name:
//   tensor.bf16/burst           a ceiling is not below its limit
//   tensor.bf16/burst/siblings  nor beside those of the other precisions
//   tensor.bf16/burst/steady    it does not scatter within the run by more than a healthy one's
//   sm_count, memory, ecc, ...  the card is what those of the population are, or what it states
//   health/xid, ...             no finding of severity "error", by its code; and counters that tell
//                               of a card that has to be replaced or restarted
//   health/pairs                what another GPU sent it, or got from it, was right
//   coverage/tensor, ...        the group was judged by something that knows healthy devices
// and of the machine, "node": nvlink.read/measured, ..., coverage/gpu_links; and gpus, their
// number. PASS promises that each group that applies was judged.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// A device, or the node, as it was checked.
struct CheckedDevice {
  std::string name, model;  // "gpu0", "NVIDIA H200"; "node", "2 x NVIDIA H200"
  std::string uuid;
  Known known = {};  // of those that were given
  std::vector<JudgedRule> rules;
};

struct CheckResult {
  std::string mode, created;
  std::vector<CheckedDevice> devices;
  std::vector<std::string> unused;  // names that were allowed or changed and did not occur

  bool gpus_given = false;  // the number of GPUs was judged

  Outcome verdict() const;  // kPass, kWarn, kCannotJudge or kFail; what is excused passes
  // The rule that decides the verdict, and its device; nullptr where there is none.
  const JudgedRule* worst(const CheckedDevice** device = nullptr) const;
};

// Holds the figures of a host's run against its peers'.
void judge_among_peers(const DeviceView& host, const CardRun& run, const Population& peers,
                       double least, CheckedDevice& device);

struct CheckOptions {
  std::span<const Population> populations;    // they have to outlive the result
  std::span<const std::string> allowed = {};  // names of rules that are excused
  std::span<const RuleChange> changes = {};   // of rules, and rules beside those of the population
  std::span<const Population> donors = {};    // that priors are taken from
  std::optional<int> gpus = {};               // how many there should be
  bool some_hidden = false;                   // CUDA_VISIBLE_DEVICES was set for the run
  const Population* peers = nullptr;          // of the fleet that a device is one of
  double least = kLeastLoss;                  // losses below it are not reported, a share
};
// One of the GPUs of a profile, or its node, which has no rules where nothing applies. node: of the
// same profile.
CheckedDevice check_device(const DeviceView& device, const DeviceView& node,
                           const CheckOptions& options);
CheckResult check(const Profile& profile, const CheckOptions& options);

// Returns the ids of the measurements that failing ceilings came from.
std::vector<std::string> ids_to_measure_again(const CheckResult& result);
// Takes over what was measured again: a ceiling that passes the second time only warns.
void confirm(CheckResult& result, const CheckResult& again);

// A measurement of this machine, and what it is judged to be.
struct Attempt {
  CheckResult result;
  bool stopped = false;  // before all was measured
};

// Attempts to measure all, and then what fails a second time, since a neighbour or a busy host may
// have slowed the first. A failing ceiling that a stop kept from being measured again is neither a
// fail nor a pass.
//   attempt: takes a regular expression for the names of points; empty: all.
CheckResult check_twice(const std::function<Attempt(const std::string& filter)>& attempt);

}  // namespace peakline

#pragma once

// Is this machine healthy? Compares its GPUs and their links with all that is known about healthy
// ones (engine.hpp). Pure functions.
//
// A GPU's rules, by name:
//   tensor.bf16/burst           a ceiling reaches its limit
//   tensor.bf16/burst/siblings  also relative to the other precisions
//   tensor.bf16/burst/steady    its scatter within the run is healthy
//   sm_count, memory, ecc, ...  the card has what others have, or what it states
//   health/xid, ...             no finding of severity "error", by code; no counter that calls
//                               for replacing or restarting the card
//   health/pairs                data exchanged with other GPUs was right
//   coverage/tensor, ...        the group was judged by something that knows healthy devices
// and the machine's ("node"): nvlink.read/measured, ..., coverage/gpu_links; gpus, their number;
// host/health/failed, measurements of the host that failed.
// PASS promises that every group that applies was judged.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/site.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct CheckResult {
  std::string mode, created;
  std::vector<CheckedDevice> devices;
  std::vector<std::string> unused;  // allowed names of which nothing failed

  bool gpus_given = false;  // their number was judged

  Outcome verdict() const;  // kPass, kWarn, kCannotJudge or kFail; excused rules pass
  // The rule that decides the verdict, and its device; nullptr without rules.
  const Judged* worst(const CheckedDevice** device = nullptr) const;
};

struct CheckedFile {
  std::string file;  // empty: just measured, and not kept
  CheckResult result;
};

// Where populations came from that nobody named.
inline constexpr std::string_view kBuiltIn = "part of this peakline";

struct Checks {
  std::vector<CheckedFile> files;
  std::string source = std::string(kBuiltIn);  // of populations, or paths
  std::string why_none = {};                   // why nothing was judged: "stopped by a signal"

  Outcome verdict() const;  // the worst
  std::vector<const CheckedDevice*> devices() const;
  // Says where the population comes from that judged the device.
  std::string_view source_of(const CheckedDevice& device) const;
};

void judge_among_peers(const DeviceView& host, const CardRun& run, const Population& peers,
                       double least, CheckedDevice& device);

struct CheckOptions {
  std::span<const Population> populations;    // must outlive the result
  std::span<const std::string> allowed = {};  // names of rules
  std::span<const RuleChange> changes = {};   // of rules, including additional ones
  std::span<const Population> donors = {};    // for cards unknown there, and priors
  std::optional<int> gpus = {};               // expected number
  bool some_hidden = false;                   // CUDA_VISIBLE_DEVICES was set for the run
  const Population* peers = nullptr;          // of the device's fleet
  double least = kLeastLoss;                  // share; smaller losses are not reported
};
// Checks a GPU of a profile, or its node, which has no rules where none apply. node: the profile's.
// site: made of options.changes.
CheckedDevice check_device(const DeviceView& device, const DeviceView& node,
                           const CheckOptions& options, SiteRules* site = nullptr);
CheckResult check(const Profile& profile, const CheckOptions& options);

std::vector<std::string> ids_to_measure_again(const CheckResult& result);
// Applies a second measurement: a ceiling that then passes only warns.
void confirm(CheckResult& result, const CheckResult& again);

struct Attempt {
  CheckResult result;
  bool stopped = false;  // before the end
};

// Measures everything, then what fails again, since a neighbour or a busy host may have slowed it.
// If that was stopped, a failing ceiling can neither fail nor pass. attempt: takes a regular
// expression for names of points; "": all.
CheckResult check_twice(const std::function<Attempt(const std::string& filter)>& attempt);

}  // namespace peakline

#pragma once

// Many machines: checks each device (check.hpp) with its peers as another yardstick, and shows the
// distribution of each ceiling. Pure functions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/judge/drift.hpp"
#include "harness/judge/machines.hpp"
#include "harness/judge/rules.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// The fewest machines with a CPU that define what is usual.
inline constexpr std::size_t kFewestMachines = 5;

// A ceiling among those of its peers.
enum class Standing {
  kUsual,
  kLow,       // below a limit
  kHigh,      // as far above its peers
  kUnsteady,  // scatters within its run far beyond a healthy device
  kUndecided  // without peers or other knowledge
};
// "usual", "low", "high", "unsteady", "undecided"
std::string_view to_string(Standing standing);

struct FleetCeiling : FigureKey {
  double value = 0;
  std::optional<double> ci_low = {}, ci_high = {};  // interval of the device's next run
  double deviation = 0;                             // value / the peers' level - 1; 0: no peers
  Standing standing = Standing::kUndecided;
  // A difference from the peers that limits a low ceiling ("heat: 87 °C, peers 62 °C"), or "".
  std::string cause = {};
};

struct FleetMember {
  std::string node;    // host name, or an anonymized profile's file name
  std::string device;  // "GPU 0", "host"
  std::string uuid;    // "host" for a host
  std::string card;    // the GPU, or the machine of a host or node, in all modes
  std::string file, created;
  std::vector<FleetCeiling> ceilings;
  // Worst first; named "node7/gpu0/tensor.bf16/burst".
  std::vector<Judged> rules;

  Outcome verdict() const { return peakline::verdict(rules); }
  // Whether all rules pass or are excused.
  bool sound() const { return std::ranges::all_of(rules, &Judged::passes); }
};

// A ceiling over the devices of a group.
struct Distribution : FigureKey {
  std::string unit = {};
  std::size_t devices = 0;
  double median = 0;
  // Median absolute deviation x 1.4826, a share: the standard deviation of normal values.
  double deviation = 0;
  double lowest = 0, p5 = 0, p25 = 0, p75 = 0, p95 = 0, highest = 0;
  std::size_t low = 0, high = 0;  // outliers
};

// Devices of one model, measured in one mode.
struct FleetGroup {
  std::string model, mode;  // "NVIDIA H200", "full"
  bool is_host = false, is_node = false;
  bool judged = true;                // false for hosts that share their machine
  std::vector<FleetMember> members;  // by node and device
  std::vector<Distribution> ceilings;
  std::map<std::string, std::string> labels;
};

struct Fleet {
  std::vector<FleetGroup> groups;         // GPUs before hosts, the largest first
  std::size_t profiles = 0, devices = 0;  // a device of several modes counts once
  std::size_t superseded = 0;             // runs with a newer one of the device in the same mode
  std::vector<std::string> in_future;     // files with such a date, older than any other run
  std::vector<std::string> unused;        // allowed names without a rule
  std::vector<Drift> drift;               // findings that change no verdict

  // The worst device's. kCannotJudge without judged devices.
  Outcome verdict() const;
  bool sound() const { return verdict() != Outcome::kFail; }
  // Failing GPUs by UUID, with the worst rule: they are no reference for others.
  std::map<std::string, std::string> faults() const;
};

// A device's newest run counts. A GPU that is not in its machine's newest run has been lost, unless
// another is in its slot. options: `peers` and `changes` are ignored; a device's peers are those of
// the fleet. now: seconds since 1970; nullopt: no date is in the future.
Fleet study_fleet(std::span<const FleetProfile> profiles, const CheckOptions& options,
                  std::optional<std::int64_t> now = {});

}  // namespace peakline

#pragma once

// Many machines: each device is checked (check.hpp), with its peers as one more yardstick, and how
// each ceiling is distributed is shown beside it. Pure functions.

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/judge/rules.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Most machines with a CPU are told from a few by so many.
inline constexpr std::size_t kFewestMachines = 5;

// Where a device's ceiling stands among its peers.
enum class Standing {
  kUsual,
  kLow,       // below a limit
  kHigh,      // as far above its peers
  kUnsteady,  // it scatters within its run by far more than a healthy device's
  kUndecided  // no peer has it, and nothing else is known of it
};
// "usual", "low", "high", "unsteady", "undecided"
std::string_view to_string(Standing standing);

struct FleetCeiling {
  std::string resource;
  Basis basis = Basis::kMeasured;
  double value = 0;
  std::optional<double> ci_low, ci_high;  // where the device's next run lies
  double deviation = 0;                   // value / the peers' level - 1; 0: there are none
  Standing standing = Standing::kUndecided;
  // It says what differs from the peers and limits this resource ("heat: 87 °C, peers 62 °C");
  // empty where nothing is known to, and of what is not low.
  std::string cause;
};

// A device of one machine.
struct FleetMember {
  std::string node;    // the host's name, of an anonymized profile its file's
  std::string device;  // "GPU 0", "host"
  std::string uuid;    // "host"
  std::string file, created;
  std::vector<FleetCeiling> ceilings;
  // All that it was judged by, the worst first; named "node7/gpu0/tensor.bf16/burst".
  std::vector<JudgedRule> rules;

  Outcome verdict() const { return peakline::verdict(rules); }
  // Whether nothing speaks against it but what was allowed.
  bool sound() const { return std::ranges::all_of(rules, &JudgedRule::passes); }
};

// One ceiling over the devices of a group.
struct Distribution {
  std::string resource;
  Basis basis = Basis::kMeasured;
  std::string unit;
  std::size_t devices = 0;
  double median = 0;
  // Median absolute deviation from the median, times 1.4826, as a share of the median: of a normal
  // distribution the standard deviation.
  double deviation = 0;
  double lowest = 0, p5 = 0, p25 = 0, p75 = 0, p95 = 0, highest = 0;
  std::size_t low = 0, high = 0;  // outliers
};

// The devices of one model that were measured in one mode.
struct FleetGroup {
  std::string model, mode;  // "NVIDIA H200", "full"
  bool is_host = false, is_node = false;
  bool judged = true;                // not of hosts that share their machine
  std::vector<FleetMember> members;  // by node and device
  std::vector<Distribution> ceilings;
  // What the resources are called.
  std::map<std::string, std::string> labels;
};

struct FleetProfile {
  std::string file;
  Profile profile;
};

struct Fleet {
  std::vector<FleetGroup> groups;  // GPUs before hosts, the largest first
  std::size_t profiles = 0, devices = 0;
  std::size_t superseded = 0;       // devices' runs of which there is a newer one in the same mode
  std::vector<std::string> unused;  // names that were allowed and did not occur

  // That of the worst device. kCannotJudge where there is nothing to judge.
  Outcome verdict() const;
  bool sound() const { return verdict() != Outcome::kFail; }
  // The GPUs that fail, and the rule for which each does so the most, by UUID: they are no
  // reference for others.
  std::map<std::string, std::string> faults() const;
};

// allowed: names of rules that are excused. options: what is known of healthy devices, and below
// which loss nothing is said; its other members are not used.
Fleet study_fleet(std::span<const FleetProfile> profiles, const CheckOptions& options);

}  // namespace peakline

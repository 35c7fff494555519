#pragma once

// The same kind of device in many machines: how each ceiling is distributed, and which device falls
// behind its peers, and why. Pure functions.

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// A group of fewer devices has no peers to be held against: of four, two slow ones are as many as
// two good ones.
inline constexpr std::size_t kFewestPeers = 5;

// Where a device's ceiling stands among its peers.
enum class Standing {
  kUsual,
  kLow,       // an outlier, below them
  kHigh,      // an outlier, above them
  kUnsteady,  // it scatters within its run by far more than a healthy device's
  kUndecided  // too few peers have it, or it cannot be judged
};
// "usual", "low", "high", "unsteady", "undecided"
std::string_view to_string(Standing standing);

struct FleetCeiling {
  std::string resource;
  Basis basis = Basis::kMeasured;
  double value = 0;
  std::optional<double> ci_low, ci_high;  // where the device's next run lies
  double deviation = 0;                   // value / the others' median - 1; 0: there are none
  Standing standing = Standing::kUndecided;
  // What differs from its peers and limits this resource, of an outlier and of what is unsteady:
  // "heat: 87 °C, peers 62 °C"; empty where nothing is known to.
  std::string cause;
};

// A device of one machine.
struct FleetMember {
  std::string node;    // the host's name, of an anonymized profile its file's
  std::string device;  // "GPU 0", "host"
  std::string uuid;    // "host"
  std::string file, created;
  std::vector<FleetCeiling> ceilings;
  std::vector<MissingCeiling> missing;  // what most peers have and this device has not
  std::vector<std::string> errors;      // messages of findings of severity "error"
  // The GPUs that the newest run of a host found (of those that looked for all), where at least
  // kFewestPeers of its group, and most, have more; and how many those have.
  std::optional<std::size_t> gpus;
  std::size_t usual_gpus = 0;
  // What speaks against it, the worst first: "health", "fact", "gpus", "slow", "unsteady",
  // "missing"; named "node7/gpu0/tensor.bf16/burst".
  std::vector<JudgedRule> reasons;

  // Whether nothing speaks against it but what was allowed.
  bool sound() const { return std::ranges::all_of(reasons, &JudgedRule::passes); }
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
  bool judged = false;               // enough devices, and not hosts that share their machine
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

  // kFail where anything speaks against any device, kCannotJudge where no group could be judged.
  Outcome verdict() const;
  bool sound() const { return verdict() != Outcome::kFail; }
};

// A device is held against the others of its group, without itself. An outlier lies beyond
// `threshold` of their median, and beyond what they scatter by: by
// Student's t of the larger of their scaled median absolute deviation and of what one device's runs
// differ by, corrected for all ceilings of all devices of the group (Bonferroni), so that of a
// hundred sound fleets one has any. What a device's own runs vary by comes on top.
// allowed: names of reasons that are excused.
Fleet study_fleet(std::span<const FleetProfile> profiles, double threshold,
                  std::span<const std::string> allowed = {});

}  // namespace peakline

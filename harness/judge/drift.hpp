#pragma once

// Drift of the stack: facts of hardware and software on which a fleet disagrees.

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/machines.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {

// A machine, or one of its GPUs.
struct FactHolder {
  std::string machine;
  std::string device = {};  // "gpu1"; empty: the machine
  auto operator<=>(const FactHolder&) const = default;
};

struct Drift {
  std::string fact;        // "driver", "power limit"
  std::string model = {};  // of GPUs, or the machines' kind; empty: any machine
  bool of_gpus = false;
  std::optional<std::string> majority = {};
  std::map<std::string, std::vector<FactHolder>> values = {};
  std::vector<FactHolder> unknown = {};
};

// The value that more than half of all have, including those that do not know it; else nullopt.
std::optional<std::string> majority_of(const std::map<std::string, std::size_t>& counts,
                                       std::size_t all);

// Facts with several values, or known to some only, by each device's and machine's newest run.
// GPUs are compared within their model, the layout of machines within their kind.
// views: of each profile.
std::vector<Drift> drift_of(std::span<const FleetProfile> profiles,
                            std::span<const std::vector<DeviceView>> views, const Cards& cards,
                            const Machines& machines, const Newest& newest);

}  // namespace peakline

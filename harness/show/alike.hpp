#pragma once

// The first screen's tables of several GPUs: one per model, of the slowest figures.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/show/overview.hpp"
#include "harness/show/screen.hpp"

namespace peakline {

// GPUs of one model, or the node or the host.
struct Alike {
  std::string names;  // "GPUs 0-7"
  std::vector<const DeviceOverview*> devices;

  const DeviceOverview& first() const { return *devices.front(); }
  bool several() const { return devices.size() > 1; }
};

// The lowest rate of the group's devices. rate_of: a device's, if known.
template <class RateOf>
std::optional<double> slowest(const Alike& group, RateOf rate_of) {
  std::optional<double> lowest;
  for (const DeviceOverview* device : group.devices)
    if (const std::optional<double> rate = rate_of(*device))
      lowest = std::min(lowest.value_or(*rate), *rate);
  return lowest;
}

// Groups GPUs by model; in_all: also by power limit, link, ...
std::vector<Alike> alike_gpus(const Overview& content, bool in_all);

// A figure of all devices of a group.
struct FigureRow {
  std::string label, unit;
  struct Of {
    const DeviceOverview* device = nullptr;
    double value = 0;
    std::optional<double> reference = {};
    NextRun next_run = {};
  };
  std::vector<Of> measured = {};  // slowest first
  std::optional<double> reference = {};
  bool computed = false;  // reference is computed, not published
  std::optional<double> healthy_from = {};
  std::string missing = {};

  // The slowest device keeps its own reference, as its link may be narrower.
  void add(const DeviceOverview& device, const std::optional<double>& value,
           const std::optional<double>& held_against, const NextRun& next);
};

// A group's headlines in the order of resources, without the host link's.
struct Headlines {
  std::vector<FigureRow> rows;
  std::vector<std::string> left_out;  // labels of figures not measured
};
Headlines headlines_of(const Alike& group);

// Adds a row per figure, and a note per missing one. held_against: heading of the references'
// column. several: the group has several devices.
void add_figures(Screen::Section& section, const std::vector<FigureRow>& rows, bool several,
                 const std::string& held_against);

}  // namespace peakline

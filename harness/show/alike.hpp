#pragma once

// The first screen's tables of several GPUs at once. Those of one model share a table, in which a
// figure is that of the slowest.

#include <optional>
#include <string>
#include <vector>

#include "harness/show/overview.hpp"
#include "harness/show/screen.hpp"

namespace peakline {

// GPUs of one model, which share the tables; or the node or the host.
struct Alike {
  std::string names;  // "GPUs 0-7"
  std::vector<const DeviceOverview*> devices;

  const DeviceOverview& first() const { return *devices.front(); }
  bool several() const { return devices.size() > 1; }
};

// "GPU 3", "GPUs 0-7", "GPUs 0, 2, 5"
std::string names_of(const std::vector<const DeviceOverview*>& gpus);

// Groups the GPUs by model. in_all: also by power limit, link, ...
std::vector<Alike> alike_gpus(const Overview& content, bool in_all);

// A figure of each of a group's devices.
struct FigureRow {
  std::string label, unit;
  struct Of {
    const DeviceOverview* device = nullptr;
    double value = 0;
    std::optional<double> reference = {};
    NextRun next_run = {};
  };
  std::vector<Of> measured = {};  // the slowest first
  std::optional<double> reference = {};
  bool computed = false;  // the reference, rather than published
  std::optional<double> healthy_from = {};
  std::string missing = {};

  // The slowest device is compared with its own reference: its link may be narrower.
  void add(const DeviceOverview& device, const std::optional<double>& value,
           const std::optional<double>& held_against, const NextRun& next);
};

// Gives the section a row a figure, and a note for each that is missing. The yardstick of the
// figures stands in a column of that heading, if there is any. several: whether the group has more
// than one device.
void add_figures(Screen::Section& section, const std::vector<FigureRow>& rows, bool several,
                 const std::string& held_against);

}  // namespace peakline

#pragma once

// Ceilings as cells and rows: of a device, or of several alike, of which the slowest counts.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/show/table.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/resources.hpp"

namespace peakline {

// nullopt without such a ceiling.
std::optional<double> value_of(const Ceiling* row);
// The energy of one operation of a compute rate, in joules: the board's power, idle power included,
// over the rate. nullopt without a power, which only loads of a second and more have.
std::optional<double> joules_per_operation(const Ceiling* row);
std::string energy_unit(std::string_view rate_unit);  // "J/FLOP" of "FLOP/s"
// "–" with the reason where the ceiling was not measured.
Cell measured_cell(const DeviceView& device, std::string_view resource, Basis basis);
Cell next_run_cell(const DeviceView& device, const Ceiling* row);
// What the resource could reach: of a link with known packets, what their headers leave.
std::optional<double> reachable(const Ceiling* row, const Ceiling* theoretical);

// GPUs of one model, or the node or the host.
struct Alike {
  std::string names;  // "GPUs 0-7"
  std::vector<const DeviceView*> devices;

  const DeviceView& first() const { return *devices.front(); }
  bool several() const { return devices.size() > 1; }
};
// Groups GPUs by model; in_all: also by power limit, link, ...
std::vector<Alike> alike_gpus(const std::vector<DeviceView>& devices, bool in_all);

// The group's devices with such a ceiling.
std::vector<const DeviceView*> slowest_first(const Alike& group, const FigureKey& of);
// The lowest rate of the group's devices. rate_of: a device's, if known.
template <class RateOf>
std::optional<double> slowest(const Alike& group, RateOf rate_of) {
  std::optional<double> lowest;
  for (const DeviceView* device : group.devices)
    if (const std::optional<double> rate = rate_of(*device))
      lowest = std::min(lowest.value_or(*rate), *rate);
  return lowest;
}

// A table for figure_row(). against: heading of the references' column.
Table figures_table(std::string key, const Alike& group, std::string against);
// A figure of the group's slowest device, with its own reference, as its link may be narrower.
Row figure_row(const Alike& group, std::string label, const FigureKey& of, const Checks& checks);
// Adds the headlines in the order of resources, besides the host link's, which are compared with
// other figures, and marks those that fail. Returns the labels of those that were not tried, which
// have no row.
std::vector<std::string> add_headlines(Table& table, const Alike& group, const Checks& checks);

// The worst outcome of a figure's rules over the group's devices: kFail, kWarn or kPass.
Outcome outcome_of(const Checks& checks, const Alike& group, const FigureKey& of);
// Adds it to the figure's row, unless it passes.
void add_verdict(Row& row, const Checks& checks, const Alike& group, const FigureKey& of);

// The figures of a device that fail.
std::vector<FigureKey> failing_figures(const Checks& checks, std::string_view uuid);

// The lowest healthy value of a figure, if known.
std::optional<double> healthy_from(const Checks& checks, std::string_view uuid,
                                   const FigureKey& of);

// Explains the brackets of references with CellMark::kComputed.
inline constexpr const char* kComputedNote =
    "In brackets: computed from units and clocks; what is published is not known.";

// Where a compute resource's figures stand: "BF16" of "Tensor Cores".
struct Placed {
  std::string format, engine;
};
Placed placed(const Resource& resource);

}  // namespace peakline

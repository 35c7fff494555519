#pragma once

// The usual deviation of a run's ceilings from the machine's mean over runs, by class of resource.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "harness/values/device_view.hpp"
#include "harness/values/facts.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {

// Where a figure was measured. A container on bare metal is no virtual machine.
struct Site {
  bool is_host = false;
  bool virtual_machine = false;  // neighbours use the same CPUs and memory
};
Site site_of(std::string_view device, const HostFacts& host);

// Shares of the value.
struct UsualSpread {
  // Standard deviation of runs about the machine's mean.
  double run_to_run;
  // Largest half width of the interval within an undisturbed run. A wider one means a disturbed
  // run; a narrower one is part of run_to_run.
  double usual_half_width;
  // Scatter within a run, over samples and sittings, that widens a limit at most: up to twice the
  // highest of healthy devices. More could excuse any loss.
  double most_scatter = 0;
  // Scatter, or a step, from which a figure is unsteady; 0: never, as healthy runs scatter as much.
  double unsteady_from = 0;
  // Additional deviation between quick and full runs: quick ones search less.
  double between_modes = 0;
  // Standard deviation of healthy cards of a model; 0: unknown.
  double between_cards = 0;
  // How far a healthy card's share of theory may lie below another model's of its compute
  // capability, in addition to between_cards: about twice the difference between H100s and H200s.
  double prior_margin = 0;
  // Share of theory, at the measured clock, that healthy devices of any model reach (published
  // figures and ours, bench/studies.md); 0: unknown.
  double floor = 0;
};

// Degrees of freedom of a class's spread when combined with the runs at hand. With fewer, one run a
// side misses a 3 % loss of a burst; with more, machines 1.5 x as noisy as their class raise false
// alarms (simulated in tests/unit/two_sides_test.cpp).
inline constexpr std::size_t kClassDegrees = 12;

// The models whose GPUs gave the spreads. Other models are assumed to be twice as noisy as the
// first, with fewer degrees of freedom, so that a machine's own runs soon dominate.
inline constexpr std::array<std::string_view, 2> kStudiedModels = {"NVIDIA H200",
                                                                   "NVIDIA H100 80GB HBM3"};
inline constexpr double kWiderWhereAssumed = 2;
inline constexpr std::size_t kAssumedDegrees = 4;
inline bool studied(std::string_view model) {
  return std::ranges::find(kStudiedModels, model) != kStudiedModels.end();
}

// The spread of the ceiling's class. resource: as in Ceiling::resource.
const UsualSpread& usual_spread(std::string_view resource, Basis basis, Site site);

// The spread of a ceiling's ratio to the geometric mean of its part's other ceilings of the same
// basis.
const UsualSpread& usual_spread_beside_siblings();

// Half the read rate of the slowest healthy L2 (L40: 16 bytes per clock and SM); no rate is
// documented.
inline constexpr double kL2FloorPerClock = 8;
// For undocumented cuts of Tensor Cores: an H20 has 0.15 of its compute capability's rate.
inline constexpr double kFloorOfUnknownTensorCores = 0.1;

// Factor on the usual spread of a device: kWiderWhereAssumed for GPUs that were not studied.
double widened(const DeviceView& device);

// A ceiling's scatter within its run.
struct OwnScatter {
  double seen = 0;      // standard deviation over samples and sittings, relative to the value
  double believed = 0;  // likewise, at most UsualSpread::most_scatter
  // The scatter or step that makes it unsteady: part of the run was slower.
  std::optional<double> excessive = {};
  double unsteady_from = 0;  // 0: never
};
OwnScatter own_scatter(const DeviceView& device, const Ceiling& row);

// The spread of a curve: the median over its points.
const UsualSpread& usual_curve_spread(VariesWith varies, bool virtual_machine);

}  // namespace peakline

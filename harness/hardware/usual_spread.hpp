#pragma once

// The usual deviation of a run's ceilings from the machine's mean over runs, by class of resource.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

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

// Scatter within a run, over samples and sittings: standard deviation, relative to the value.
double own_scatter(const RunSpread& spread);

// Limit for own_scatter() and for steps within a single sitting on healthy devices. The highest
// scatter in 278 runs of fourteen H200s was 1.26 %, the largest step of four H200s 0.23 %; a 6 %
// step between two sittings exceeds the limit.
inline constexpr double kMostOwnScatter = 0.03;
// PCIe has a limit of its own: other guests slow copies. The largest step of seven H100s in virtual
// machines was 4.3 %.
inline constexpr double kMostLinkScatter = 0.06;
// The ceiling's limit; wider if its spread is borrowed from another model.
double most_own_scatter(const Ceiling& row);

// A ceiling's scatter if it exceeds most_own_scatter(): part of the run was slower, and such a
// spread would excuse any loss. nullopt otherwise, and for ceilings that scatter as much in healthy
// runs: the host, PCIe both ways, collectives, input from storage.
std::optional<double> excessive_scatter(const Ceiling& row);

// The spread of a curve: the median over its points.
const UsualSpread& usual_curve_spread(VariesWith varies, bool virtual_machine);

}  // namespace peakline

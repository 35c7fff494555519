#pragma once

// How far one run's ceiling usually lies from what the machine gives on average over its runs.

#include <cstddef>
#include <optional>
#include <string_view>

#include "harness/values/facts.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {

// The place where a figure was measured. A container alone does not make a machine virtual.
struct Site {
  bool is_host = false;
  bool virtual_machine = false;  // its neighbours use the same CPUs and memory
};
// device: as in Ceiling::device.
Site site_of(std::string_view device, const HostFacts& host);

// Both are shares of the value.
struct UsualSpread {
  // Standard deviation of one run's value about the mean of the machine's runs.
  double run_to_run;
  // The largest half width of the interval within one run that those runs had. Up to there the
  // spread from run to run includes what the interval says; beyond it the run was disturbed.
  double usual_half_width;
  // How far a quick run's value may lie from a full one's beside that: it searches less.
  double between_modes = 0;
  // Standard deviation of healthy cards of one model about their mean. 0: not known.
  double between_cards = 0;
  // How far a healthy card's share of theory may lie below that of another model of its compute
  // capability, beside what cards scatter by: about twice what H100s and H200s differ by.
  double prior_margin = 0;
  // The share of theory, at the measured clock, that every healthy device of any model reaches,
  // from published figures and ours (bench/studies.md). 0: none is known.
  double floor = 0;
};

// The degrees of freedom that a class's spread is worth beside the spread of the runs at hand.
// Fewer, and one run a side does not find a loss of 3 % of a burst; more, and machines that vary by
// half as much again as their class raise alarms (simulated in tests/unit/two_sides_test.cpp).
inline constexpr std::size_t kClassDegrees = 12;

// The model whose cards the spreads of GPUs were measured on. Spreads of other models are assumed
// to be twice as wide and known from fewer runs, so that a machine's own runs soon count for more.
inline constexpr std::string_view kStudiedModel = "NVIDIA H200";
inline constexpr double kWiderWhereAssumed = 2;
inline constexpr std::size_t kAssumedDegrees = 4;
// model: of a GPU, as NVML has it.
inline bool studied(std::string_view model) { return model == kStudiedModel; }

// Returns that of a measured ceiling's class of resource. resource: as in Ceiling::resource.
const UsualSpread& usual_spread(std::string_view resource, Basis basis, Site site);

// Usual spread of a ceiling over the geometric mean of the same part's other ceilings of its basis.
const UsualSpread& usual_spread_beside_siblings();

// An L2 has no documented peak. The slowest healthy one of any model reads 16 bytes per clock and
// SM (L40); half of that is broken.
inline constexpr double kL2FloorPerClock = 8;
// The rate of a product's Tensor Cores may be cut if no document states it: an H20 has 0.15 of what
// its compute capability says.
inline constexpr double kFloorOfUnknownTensorCores = 0.1;

// How much a ceiling scatters within its run: over the samples of a sitting, and from one sitting
// to the next. A standard deviation, relative to the value.
double own_scatter(const RunSpread& spread);

// A healthy device's does not go beyond: the highest of 278 full and quick runs of fourteen H200s
// was 1.26 %, and a step of 6 % between two sittings shows. A step within a single sitting counts
// alike: those of four H200s were 0.23 % at most.
inline constexpr double kMostOwnScatter = 0.03;
// The limit for one ceiling; wider where the spread of its model is assumed.
double most_own_scatter(const Ceiling& row);

// A ceiling's own scatter where it is beyond that: the device was slower for a part of the run,
// say. Such a value says little, and its scatter would excuse any loss. nullopt also where there is
// no such limit: of the host, of PCIe both ways and of collectives, whose healthy runs scatter by
// more.
std::optional<double> excessive_scatter(const Ceiling& row);

// The spread of a benchmark's curve is the median over its points. virtual_machine: whether it was
// run in one.
const UsualSpread& usual_curve_spread(VariesWith varies, bool virtual_machine);

}  // namespace peakline

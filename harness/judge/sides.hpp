#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/comparison.hpp"
#include "harness/judge/two_sides.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// A device in each run of one side, at least one.
using Runs = std::vector<DeviceView>;
struct DevicePair {
  Runs base, next;
  std::string base_machine = {};  // as in MachineSides
};

// The profiles and devices that both sides hold of one machine.
struct MachineSides {
  std::string machine = {};  // its name; "" if the sides are compared as one machine
  std::vector<const Profile*> base = {}, next = {};
  std::vector<DevicePair> pairs = {};                // GPUs by index, the host last
  std::vector<Runs> only_base = {}, only_next = {};  // devices without a counterpart
};

// By machine. A GPU is found by its card on any machine; the pair is of the new side's machine.
std::vector<MachineSides> pair_devices(std::span<const Profile> base, std::span<const Profile> next,
                                       const CompareOptions& options);

// The first run of another model than the first old one; nullptr without one.
const DeviceView* other_model(const DevicePair& pair);

// Conditions of the run that may explain a difference: "driver", "power limit"; "": unknown.
std::vector<std::pair<std::string, std::string>> conditions_of(const DeviceView& run);

// Short UUIDs of a GPU's cards; empty for node and host.
std::set<std::string> cards_of(const Runs& runs);
// Whether the sides have no card in common.
bool different_cards(const DevicePair& pair);

// Each fills its part of `out` and appends the figures to judge, in the same order.
void compare_ceilings(const DevicePair& pair, const CompareOptions& options, DeviceComparison& out,
                      std::vector<ComparedFigure>& figures);
void compare_curves(const DevicePair& pair, double threshold,
                    std::span<const Population> populations, DeviceComparison& out,
                    std::vector<ComparedFigure>& figures);
void compare_conditions(const DevicePair& pair, DeviceComparison& out);

// Judges one machine. compared: its pairs with verdicts.
Gate gate(const MachineSides& sides, std::span<const DeviceComparison> compared,
          std::span<const Population> populations);

// Over ceilings that know the condition; nullopt without any.
std::optional<double> median_of(std::span<const Ceiling* const> rows,
                                std::optional<double> Conditions::*condition);

// The part of a ratio that a clock above the stated maximum explains, in some runs only.
double clock_offset(const DevicePair& pair);

}  // namespace peakline

#pragma once

// What the parts of a comparison share.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/comparison.hpp"
#include "harness/judge/two_sides.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// One device in each run of one side; at least one.
using Runs = std::vector<DeviceView>;
struct DevicePair {
  Runs base, next;
};
struct PairedDevices {
  std::vector<DevicePair> pairs;           // GPUs by index, the host last
  std::vector<Runs> only_base, only_next;  // devices without a counterpart
};

PairedDevices pair_devices(std::span<const Profile> base, std::span<const Profile> next);

// "gpu0", "host", "node": how rules name a device.
std::string device_key(const DeviceView& run);

// "NVIDIA H200", "AMD EPYC 9654".
std::string model_of(const DeviceView& run);

// How many times the usual spread the device's model is assumed to scatter.
double widened(const DeviceView& run);

// What may explain a difference, as it was during the run, by name: "driver", "power limit". "":
// not known.
std::vector<std::pair<std::string, std::string>> conditions_of(const DeviceView& run);

// The value that a run was given for an option, "--filter"; empty: none.
std::string option_of(const Profile& profile, std::string_view option);
// "0,1"; empty: all that the machine has.
std::string devices_asked_for(const Profile& profile);

// Whether no card of one side is on the other.
bool different_cards(const DevicePair& pair);

// Each fills its part of `out` and appends what there is to judge, in the order of out.ceilings or
// out.curves.
void compare_ceilings(const DevicePair& pair, const CompareOptions& options, DeviceComparison& out,
                      std::vector<ComparedFigure>& figures);
void compare_curves(const DevicePair& pair, double threshold,
                    std::span<const Population> populations, DeviceComparison& out,
                    std::vector<ComparedFigure>& figures);
void compare_conditions(const DevicePair& pair, DeviceComparison& out);

// compared: of the pairs, once their verdicts are known.
Gate gate(std::span<const Profile> base, std::span<const Profile> next,
          const PairedDevices& devices, std::span<const DeviceComparison> compared,
          std::span<const std::string> allowed);

// Only ceilings whose conditions know it count; nullopt where none does.
std::optional<double> median_of(std::span<const Ceiling* const> rows,
                                std::optional<double> Conditions::*condition);

// The share of a ratio that a clock explains which is a step above the stated maximum in some of
// the runs alone.
double clock_offset(const DevicePair& pair);

// Whether a rate is one of operations, which a clock explains.
inline bool is_compute(std::string_view unit) { return unit == "FLOP/s" || unit == "OP/s"; }

}  // namespace peakline

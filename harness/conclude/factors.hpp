#pragma once

// Why a figure is below 100 %: its share of the theoretical value as a product of factors that can
// be checked against the profile. Pure functions; `row` has a theoretical ceiling and a sound
// measurement on the device.

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {

inline constexpr std::string_view kClockFactor = "clock", kPacketsFactor = "packets",
                                  kRestFactor = "rest", kHalfRateFactor = "half rate",
                                  kBoostFactor = "boost clock";

// Utilization of `sms` SMs by `tiles` tiles, one per SM at a time, until the last ends; in (0, 1].
double share_of_waves(std::int64_t tiles, unsigned sms);

// Compute: "half rate" (product over architecture: 0.5 for FP32 sums on GeForce parts), "boost
// clock" (datasheet's over NVML's maximum, if higher), "clock" (observed over boost, else over
// maximum), "waves" (share_of_waves() of GEMMs, weighted by FLOP), "instruction" (matrix
// instructions alone, per clock) and "rest". Empty if the clock is unknown.
std::vector<Factor> compute_factors(const DeviceView& device, const Ceiling& row);

// Device memory: "launch" (overhead, from a line through times over footprints), "turnaround"
// (mixed traffic over the byte-weighted mean of reads and writes alone), "memory clock" (observed
// over maximum, if lower: CUDA's P2 state on GeForce parts) and "DRAM" (rest: refresh, opening
// rows).
std::vector<Factor> memory_factors(const DeviceView& device, const Ceiling& row);

// Host link: "packets" (payload over payload plus 24 bytes per packet, if its size is known),
// "launch" (as for memory) and "rest" (flow control, acknowledgements, host memory).
std::vector<Factor> link_factors(const DeviceView& device, const Ceiling& row);

// The profile's ceilings; those measured, with a known theoretical value, have factors whose
// product is value / theoretical.
std::vector<Ceiling> with_factors(const Profile& profile, Benchmarks benchmarks);

}  // namespace peakline

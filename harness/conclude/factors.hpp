#pragma once

// Why a figure is not 100 % of what the hardware could do: its share of the theoretical value as a
// product of factors, each of which a person can check against the profile. Pure functions.

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/values/benchmark.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

inline constexpr std::string_view kClockFactor = "clock", kPacketsFactor = "packets",
                                  kRestFactor = "rest", kHalfRateFactor = "half rate",
                                  kBoostFactor = "boost clock";

// The share of `sms` SMs that `tiles` tiles, one an SM, keep busy until the last is done, in (0,
// 1].
double share_of_waves(std::int64_t tiles, unsigned sms);

// A rate of operations has "half rate" (what the product has of its architecture's rate: with sums
// in FP32, GeForce parts have half), "boost clock" (that of the datasheet over NVML's maximum,
// where that one is higher), "clock" (observed over boost clock, else over maximum), "waves"
// (share_of_waves() of a matrix product, or of several, weighted by FLOP), "instruction" (what the
// matrix instructions alone reach per clock, where that was measured) and "rest". Empty where the
// clock was not read.
std::vector<Factor> compute_factors(const FactorView& view);

// Device memory has "launch" (the start and end of a launch: the line through the times over the
// footprints has a fixed part), "turnaround" (mixed traffic over the mean of what reads and writes
// reach alone, weighted by bytes), "memory clock" (observed over maximum, where it was lower:
// CUDA's state P2 of GeForce parts) and "DRAM" (the rest: refresh, opening rows).
std::vector<Factor> memory_factors(const FactorView& view);

// The host link has "packets" (payload over payload and the 24 bytes of header, sequence number and
// checksum of each packet, where its size is known), "launch" (as for memory) and "rest" (flow
// control, acknowledgements, the host's memory).
std::vector<Factor> link_factors(const FactorView& view);

// The profile's ceilings, those with factors that were measured and whose theoretical value is
// known; the product of the factors is value / theoretical.
std::vector<Ceiling> with_factors(const Profile& profile, Benchmarks benchmarks);

}  // namespace peakline

#pragma once

// Curves over work in flight: how much a device needs.

#include <optional>
#include <span>

#include "harness/conclude/curves.hpp"

namespace peakline {

// The amount in flight for a rate, interpolated between points; the fastest of equal amounts
// counts. nullopt if the least suffices, which tells nothing, or the most does not.
struct InFlight {
  double amount = 0, rate = 0;
};
std::optional<double> in_flight_for(std::span<const InFlight> points, double wanted);

// "90 % of 4618 GB/s needs 23.9 KiB in flight per SM, 3.08 MiB in all; latency x bandwidth is ...":
// of hbm.read, else the highest rate here. Points by "warps" per SM and "loads" of 16 bytes per
// thread.
CurveRule bytes_in_flight_curve();

// "95 % of the highest rate per clock needs 16 warps with 1 chain, 8 with 2, ...". Points by
// "warps" per SM and "chains" per thread.
CurveRule chains_curve();

// "random sectors 1202 GB/s up to 64 GiB, 193 GB/s over 128 GiB": by footprint ("bytes"), up to
// where the rate falls by a quarter of its median so far, and at the largest. Figures rate and, if
// it falls, reach, beyond and rate_beyond.
CurveRule gather_curve();

}  // namespace peakline

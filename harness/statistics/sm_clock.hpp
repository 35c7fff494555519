#pragma once

// SM clocks, from the SMs' cycle counters and the global timer.

#include <cstdint>
#include <optional>
#include <span>

#include "harness/values/measurement.hpp"

namespace peakline {

// An SM's cycle counter at the moment when the global timer ticked over to `nanoseconds`.
struct ClockReading {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;  // 0: not read
  std::uint32_t spread = 0;       // uncertainty of `cycles`, full width
  std::uint32_t sm = 0;
};

// Cycles per second from `start` to `end`, median over SMs, which may come in any order. nullopt:
// no SM was read at both ends, or the readings are too close together for 0.3 %.
std::optional<double> clock_between(std::span<const ClockReading> start,
                                    std::span<const ClockReading> end);

// Tolerates reading errors of the clock: steps of 15 MHz, and spread over the SMs.
inline constexpr double kPlausibleMargin = 1.005;

// Devices may run up to two steps above the stated maximum SM clock: an H100 runs at 1995 instead
// of 1980 MHz for minutes. step_hz: nullopt if unknown.

// The clock if plausible: at most kPlausibleMargin x the maximum, or its second step above.
std::optional<double> possible_clock(std::optional<double> clock_hz, std::optional<double> max_hz,
                                     std::optional<double> step_hz);
// The highest step above the maximum at which at least three readings, each from another
// measurement, agree: their median. nullopt without one.
std::optional<double> agreed_clock_above(double max_hz, double step_hz,
                                         std::span<const double> clocks_hz);

// The clock that belongs to an estimate, from the clock of each sample; for the fastest tenth, the
// median of all. nullopt without clocks.
std::optional<double> estimated_clock(std::span<const double> clocks_hz,
                                      Estimate estimate = Estimate::kMedian);

}  // namespace peakline

#pragma once

// The clock of a device's SMs between two moments, from their cycle counters and the global timer.

#include <cstdint>
#include <optional>
#include <span>

#include "harness/values/measurement.hpp"

namespace peakline {

// One SM's cycle counter at the moment when the global timer ticked over to `nanoseconds`.
struct ClockReading {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;  // 0: was not read
  std::uint32_t spread = 0;       // `cycles` may be off by half of this either way
  std::uint32_t sm = 0;
};

// The median over SMs of cycles per second from `start` to `end`, which need not have the SMs in
// the same order. nullopt where no SM was read at both ends, and where the readings are too close
// together to give the clock to 0.3 %.
std::optional<double> clock_between(std::span<const ClockReading> start,
                                    std::span<const ClockReading> end);

// Clocks are read in steps of 15 MHz and spread over the SMs: what exceeds a limit by more than
// this is no reading error.
inline constexpr double kPlausibleMargin = 1.005;

// Devices run up to two steps of the SM clock above the maximum that drivers state: an H100 at 1995
// of 1980 MHz for minutes. Each function takes the stated maximum and the step (nullopt: not
// known).

// The clock, unless it is above kPlausibleMargin x the maximum and above its second step.
std::optional<double> possible_clock(std::optional<double> clock_hz, std::optional<double> max_hz,
                                     std::optional<double> step_hz);
// The median of the readings at the highest step above the maximum that at least three of them,
// each of another measurement, agree on; nullopt where they agree on none.
std::optional<double> agreed_clock_above(double max_hz, double step_hz,
                                         std::span<const double> clocks_hz);

// The SM clock that belongs to an estimate over several samples, from the clock of each; nullopt
// without any. For the fastest tenth it is the median over all.
std::optional<double> estimated_clock(std::span<const double> clocks_hz,
                                      Estimate estimate = Estimate::kMedian);

}  // namespace peakline

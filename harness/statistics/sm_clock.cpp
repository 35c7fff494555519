#include "harness/statistics/sm_clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace peakline {
namespace {

// Rates per clock are compared to about 1 %, so the clock must be a few times better.
constexpr double kClockTolerance = 0.003;

constexpr int kStepsAbove = 2;
// A reading belongs to a step within this share of a step; means over a clock change lie between.
constexpr double kStepTolerance = 1.0 / 3;
// Two readings may be off for one common reason.
constexpr std::size_t kAgreeing = 3;

std::optional<double> clock_of_sm(const ClockReading& start, const ClockReading& end) {
  if (start.nanoseconds == 0 || end.nanoseconds <= start.nanoseconds || end.cycles <= start.cycles)
    return std::nullopt;
  const auto cycles = static_cast<double>(end.cycles - start.cycles);
  const double error = (static_cast<double>(start.spread) + static_cast<double>(end.spread)) / 2;
  if (error > kClockTolerance * cycles) return std::nullopt;
  return cycles / (static_cast<double>(end.nanoseconds - start.nanoseconds) * 1e-9);
}

}  // namespace

std::optional<double> clock_between(std::span<const ClockReading> start,
                                    std::span<const ClockReading> end) {
  std::vector<double> clocks_hz;
  for (const ClockReading& before : start) {
    const auto after = std::ranges::find(end, before.sm, &ClockReading::sm);
    if (after == end.end()) continue;
    if (const auto clock_hz = clock_of_sm(before, *after)) clocks_hz.push_back(*clock_hz);
  }
  return estimated_clock(clocks_hz);
}

std::optional<double> possible_clock(std::optional<double> clock_hz, std::optional<double> max_hz,
                                     std::optional<double> step_hz) {
  if (!clock_hz || !max_hz) return clock_hz;
  const double second_step = *max_hz + (kStepsAbove + kStepTolerance) * step_hz.value_or(0);
  if (*clock_hz > std::max(kPlausibleMargin * *max_hz, second_step)) return std::nullopt;
  return clock_hz;
}

std::optional<double> agreed_clock_above(double max_hz, double step_hz,
                                         std::span<const double> clocks_hz) {
  for (int step = kStepsAbove; step > 0; --step) {
    std::vector<double> there;
    for (const double clock_hz : clocks_hz)
      if (std::abs(clock_hz - max_hz - step * step_hz) <= kStepTolerance * step_hz)
        there.push_back(clock_hz);
    if (there.size() >= kAgreeing) return median(there);
  }
  return std::nullopt;
}

std::optional<double> estimated_clock(std::span<const double> clocks_hz, Estimate estimate) {
  if (clocks_hz.empty()) return std::nullopt;
  return estimate == Estimate::kTrimmedMean ? estimated(clocks_hz, estimate) : median(clocks_hz);
}

}  // namespace peakline

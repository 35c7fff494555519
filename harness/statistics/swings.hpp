#pragma once

// Mean rates of loads that power control modulates, on an H200 by up to 12 % about once a second: a
// mean must cover whole oscillations.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace peakline {

// The period, in values: beyond the first lag without correlation, the lag up to half of the values
// with the highest. nullopt where no lag correlates, or for steady values.
std::optional<std::size_t> swing_period(std::span<const double> values);

struct SwingMeans {
  std::vector<double> means;
  std::size_t length = 0;  // values in each
};
// `count` means over one period each, or over a third of the values where there is none, evenly
// spaced from first to last value, possibly overlapping. count >= 2; throws std::invalid_argument
// for fewer than 3 values.
SwingMeans swing_means(std::span<const double> values, std::size_t count);
// Means of as many oscillations as have an interval; the values themselves if there are fewer.
SwingMeans load_means(std::span<const double> values);

// The range of oscillations' means, relative to the least: a drift or a second state, as
// oscillations average out. means: at least one, above 0.
double shift_of_swings(const std::vector<double>& means);

// Whether 90 % of the values lie within 1 % of one another.
bool steady(std::span<const double> values);

}  // namespace peakline

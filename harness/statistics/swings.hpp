#pragma once

// The mean rate of a load while power control swings it: on an H200 by up to 12 % about once a
// second, so that a mean is only good if it covers whole swings.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace peakline {

// The period of the swings, in values: beyond the lag at which the values first cease to resemble
// themselves, the one of up to half of them at which they resemble themselves most. nullopt where
// they do so at none, or are steady.
std::optional<std::size_t> swing_period(std::span<const double> values);

// The means of runs of neighbours.
struct SwingMeans {
  std::vector<double> means;
  std::size_t length = 0;  // values in each
};
// `count` runs, each as long as one swing, or as a third of the values where they do not swing: the
// first at their start, the last at their end, evenly spaced, so that they may overlap. count >= 2;
// throws std::invalid_argument for fewer than 3 values.
SwingMeans swing_means(std::span<const double> values, std::size_t count);
// The means of as many swings as have an interval; the values themselves if there are fewer.
SwingMeans load_means(std::span<const double> values);

// How far the means of swings lie apart, relative to the least: what lasts for a swing or longer, a
// drift or a second state, is no swing. means: at least one, above 0.
double shift_of_swings(const std::vector<double>& means);

// Whether nine of ten values lie within one percent of one another.
bool steady(std::span<const double> values);

}  // namespace peakline

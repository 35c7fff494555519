#pragma once

// Statistics of timing samples. Times are seconds; functions are pure. A function that needs a
// value throws std::invalid_argument for an empty span.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

double median(std::span<const double> values);

double mean(std::span<const double> values);

// exp of the mean logarithm; values: above 0.
double geometric_mean(std::span<const double> values);

// The value below which this share (0 to 1) of the values lies, interpolated (type 7 of Hyndman and
// Fan 1996).
double quantile(std::span<const double> values, double share);

// Ranks (1-based, inclusive) of the narrowest symmetric order statistics that enclose the median of
// n independent samples with at least 95 %, by the sign test's binomial tail: (6, 15) for n = 20.
// For n < 6, where none exist, (1, n).
std::pair<std::size_t, std::size_t> median_interval_ranks(std::size_t n);

// The probability that order statistics of ranks `low` and `high` of n samples enclose the median.
double median_interval_coverage(std::size_t n, std::size_t low, std::size_t high);

// The time from which a value is computed.
double estimated(std::span<const double> blocks, Estimate estimate);

Summary summarize(std::span<const double> blocks);

// The lag from which autocorrelation stays within noise (2 / sqrt(n), Bartlett): samples further
// apart count as independent. At least 1; samples.size() where it never falls.
std::size_t correlation_length(std::span<const double> samples);

// Median absolute deviation.
double median_deviation(std::span<const double> values);

// Medians (means) of `count` blocks of neighbours, equal in size to within one, in time order.
// count <= samples.size().
std::vector<double> block_medians(std::span<const double> samples, std::size_t count);
std::vector<double> block_means(std::span<const double> samples, std::size_t count);

// Whether values trend over time: Kendall's tau test (normal approximation, two-sided 0.5 %) is
// positive, and the medians of the first and last third differ by more than `tolerance`, relative
// to the median. Fewer than 6 values never drift.
bool drifts(std::span<const double> values, double tolerance);
// Whether stretches share a trend, such as those that each begin at rest: trends and thirds are
// compared within each. Stretches of fewer than 3 values, or fewer than 6 values in all, never
// drift.
bool drifts(std::span<const std::span<const double>> stretches, double tolerance);

// Whether values form two levels: their distance is many times the scatter around them, each has at
// least a quarter of the values, and the rarer one shifts the mean by more than half of
// `tolerance`, relative to the median (so that equally frequent levels differ by more than
// `tolerance`). Fewer than 6 values never do.
bool has_two_levels(std::span<const double> values, double tolerance);

// Relative standard error of the blocks' median. Correlated neighbours count for fewer (effective
// number by an AR(1) model). 0 for a single block.
double standard_error(std::span<const double> blocks);

// Relative standard error of estimated(). Trimmed mean: that of the mean of all, an upper bound.
// Fastest tenth: the change if more blocks counted, which is small if some were undisturbed.
double uncertainty(std::span<const double> blocks, Estimate estimate);

// Whether the median is less certain than its scatter suggests: blocks, in time order, drift, form
// two levels, or are so correlated that twice the standard error exceeds `tolerance`, relative to
// the median.
bool varies(std::span<const double> blocks, double tolerance);

// Half width of a normal 95 % interval, in standard errors.
inline constexpr double kNormal95 = 1.96;

// The quantile of Student's t with upper tail probability `tail` < 0.5: closed form (Abramowitz and
// Stegun, 26.7.3 and 26.7.4), inverted by bisection.
double student_quantile(double tail, std::size_t degrees);

// The time from which values that approach a limit (a temperature) stay within `tolerance` of the
// median of their last quarter. nullopt: only within that quarter, fewer than 8 values, or a NaN.
// time_s: ascending; throws std::invalid_argument if its length differs from `values`.
std::optional<double> settling_time(std::span<const double> time_s, std::span<const double> values,
                                    double tolerance);

// Least-squares line time = fixed + per_item * x with weights 1/time^2, so that relative errors
// count. Throws std::invalid_argument without two different x.
struct Line {
  double fixed = 0;
  double per_item = 0;
};
Line fit_line(std::span<const double> x, std::span<const double> time_s);
// A fitted line if there are at least three different x; two fit any line.
std::optional<Line> line_through_sizes(std::span<const double> x, std::span<const double> time_s);

}  // namespace peakline

#pragma once

// Statistics of timing samples, in one place. All times are seconds; all functions are pure.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

// Throws std::invalid_argument on an empty span.
double median(std::span<const double> values);

// Throws std::invalid_argument on an empty span.
double mean(std::span<const double> values);

// exp of the mean of the logarithms of values above 0. Throws std::invalid_argument on an empty
// span.
double geometric_mean(std::span<const double> values);

// The value below which a share of the values lies, 0 to 1, interpolated between the two nearest
// (type 7 of Hyndman and Fan 1996). Throws std::invalid_argument on an empty span.
double quantile(std::span<const double> values, double share);

// The ranks (1-based, inclusive) of the order statistics that enclose the median of n independent
// samples with a probability of at least 95 %, as narrow as possible and symmetric: the binomial
// tail of the sign test. For n = 20 it is (6, 15). For n < 6 no such pair exists; then (1, n), the
// widest there is.
std::pair<std::size_t, std::size_t> median_interval_ranks(std::size_t n);

// The probability with which [min, max] style ranks (low, high) of n samples enclose the median.
double median_interval_coverage(std::size_t n, std::size_t low, std::size_t high);

// The time that a value follows from, of block medians. Throws std::invalid_argument on an empty
// span.
double estimated(std::span<const double> blocks, Estimate estimate);

// Median, its interval, extremes. Throws std::invalid_argument on an empty span.
Summary summarize(std::span<const double> blocks);

// The lag from which on the samples' autocorrelation stays inside what noise gives
// (2 / sqrt(n), Bartlett): neighbours further apart count as independent. At least 1;
// samples.size() where the correlation never falls.
std::size_t correlation_length(std::span<const double> samples);

// The median distance of the values from their median.
double median_deviation(std::span<const double> values);

// The medians (means) of `count` runs of neighbours, equal in length to within one, in time order.
// count <= samples.size().
std::vector<double> block_medians(std::span<const double> samples, std::size_t count);
std::vector<double> block_means(std::span<const double> samples, std::size_t count);

// True where the values trend over time: Kendall's tau test (normal approximation, two-sided 0.5 %)
// says so, and the last third's median differs from the first third's by more than `tolerance`
// (relative to the median). Fewer than 6 values never drift.
bool drifts(std::span<const double> values, double tolerance);
// Tests stretches that may each trend in the same way, such as those that begin at rest: trends are
// counted, and thirds compared, within each. Stretches of fewer than 3 values, or of fewer than 6
// in all, never drift.
bool drifts(std::span<const std::span<const double>> stretches, double tolerance);

// True where the values lie around two levels, apart by many times the scatter around them, each
// with at least a quarter of the values, and the rarer one pulls their mean away by more than half
// of `tolerance` (relative to the median): levels with as many values are then further apart than
// `tolerance`. Fewer than 6 values never do.
bool has_two_levels(std::span<const double> values, double tolerance);

// The standard error of the median of these blocks, relative to it. Blocks in time order that
// resemble their neighbours count for fewer (their effective number, by an AR(1) model). 0 for a
// single block. Throws std::invalid_argument on an empty span.
double standard_error(std::span<const double> blocks);

// The standard error of estimated() from these blocks, relative to it. For the trimmed mean it is
// that of the mean of all, which is no smaller where ends are trimmed for a reason. For the fastest
// tenth it is how far the figure moves if more of the blocks count, which is little if some were
// undisturbed.
double uncertainty(std::span<const double> blocks, Estimate estimate);

// True where the median of these blocks, in time order, says less than their scatter seems to say:
// they drift, lie around two levels, or resemble their neighbours so much that twice the standard
// error exceeds the tolerance (relative to the median).
bool varies(std::span<const double> blocks, double tolerance);

// Half of a normal distribution's 95 % interval, in standard errors.
inline constexpr double kNormal95 = 1.96;

// The point that a value of Student's t exceeds with the probability `tail`, below 0.5. The
// distribution's closed form (Abramowitz and Stegun, 26.7.3 and 26.7.4), inverted by bisection.
double student_quantile(double tail, std::size_t degrees);

// The time from which on values that approach a limit (a temperature) stay within `tolerance` of
// the median of their last quarter. nullopt if that is not before the last quarter begins, for
// fewer than 8 values, and if one of them is not a number. time_s ascends and is as long as
// `values`; throws std::invalid_argument otherwise.
std::optional<double> settling_time(std::span<const double> time_s, std::span<const double> values,
                                    double tolerance);

// The least-squares line time = fixed + per_item * x, weighted by 1/time^2 so that small and large
// x count alike (relative error). Needs two different x; throws std::invalid_argument otherwise.
struct Line {
  double fixed = 0;
  double per_item = 0;
};
Line fit_line(std::span<const double> x, std::span<const double> time_s);
// Fits a line only if there are at least three different x: through two, a line says no more than
// they.
std::optional<Line> line_through_sizes(std::span<const double> x, std::span<const double> time_s);

}  // namespace peakline

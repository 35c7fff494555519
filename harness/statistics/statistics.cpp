#include "harness/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>
#include <stdexcept>

namespace peakline {
namespace {

// std::lgamma writes the global signgam, a data race.
double log_factorial(double n) {
  int sign = 0;
  return ::lgamma_r(n + 1, &sign);
}

// P(X = k) for X ~ Binomial(n, 1/2); logarithms avoid underflow for n in the thousands.
double binomial_half(std::size_t n, std::size_t k) {
  const auto dn = static_cast<double>(n);
  const auto dk = static_cast<double>(k);
  return std::exp(log_factorial(dn) - log_factorial(dk) - log_factorial(dn - dk) -
                  dn * std::log(2.0));
}

// Two-sided 0.5 % of the normal distribution, as each sitting and the whole measurement are tested.
constexpr double kTrendZ = 2.807;
// With six values only a perfect order counts as a trend, which chance gives in 0.3 %.
constexpr std::size_t kFewestForTrend = 6;

// Fewer values form two groups by chance.
constexpr std::size_t kFewestForLevels = 6;
// A rarer level does not move the median: every tenth read of an H200's memory takes 0.5 % longer.
constexpr std::size_t kRarestLevel = 4;  // one in this many
// Distance of two levels over the scatter around them. The best split of a single level gives 2.7
// for normal, 3.5 for uniform values; chance exceeds 7 in 0.2 % for ten normal values, and 12 in
// 0.4 % for six.
constexpr double kLevelGap = 7, kLevelGapOfFew = 12;
constexpr std::size_t kFew = 10;

// sqrt(pi / 2): standard error of a median over that of a mean.
constexpr double kMedianOverMean = 1.2533;
// The AR(1) model is unreliable beyond.
constexpr double kMostCorrelation = 0.9;

// P(|T| < t) for Student's t.
double student_inside(double t, std::size_t degrees) {
  const auto n = static_cast<double>(degrees);
  const double angle = std::atan(t / std::sqrt(n)), sine = std::sin(angle);
  const double cosine2 = std::pow(std::cos(angle), 2);
  const bool odd = degrees % 2 == 1;
  double term = odd ? std::cos(angle) : 1, sum = degrees == 1 ? 0 : term;
  for (double k = odd ? 3 : 2; k < n; k += 2) {
    term *= (k - 1) / k * cosine2;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

// Ranks from 0; ties share their mean rank.
std::vector<double> ranks_of(std::span<const double> values) {
  const std::size_t n = values.size();
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(n);
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    while (end < n && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) rank[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

// Autocorrelation by lag, of ranks rather than values so that one interrupted sample cannot hide
// the correlation of the others.
class Autocorrelation {
 public:
  explicit Autocorrelation(std::span<const double> values) : rank_(ranks_of(values)) {
    const double mean = static_cast<double>(rank_.size() - 1) / 2;
    for (double& r : rank_) {
      r -= mean;
      variance_ += r * r;
    }
  }
  // 0 if all values are equal.
  double operator()(std::size_t lag) const {
    double covariance = 0;
    for (std::size_t i = 0; i + lag < rank_.size(); ++i) covariance += rank_[i] * rank_[i + lag];
    return variance_ > 0 ? covariance / variance_ : 0;
  }
  // Bound for independent values (Bartlett; one-sided 2.3 %).
  double noise() const { return 2 / std::sqrt(static_cast<double>(rank_.size())); }

 private:
  std::vector<double> rank_;  // less their mean
  double variance_ = 0;
};

// Lag-1 correlation; 0 within the noise of independent values.
double neighbour_correlation(std::span<const double> values) {
  const Autocorrelation correlation(values);
  const double lag_1 = correlation(1);
  return lag_1 > correlation.noise() ? std::min(lag_1, kMostCorrelation) : 0;
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("median of no values");
  std::vector<double> sorted(values.begin(), values.end());
  const std::size_t middle = sorted.size() / 2;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(middle),
                   sorted.end());
  const double upper = sorted[middle];
  if (sorted.size() % 2 == 1) return upper;
  const double lower =
      *std::max_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(middle));
  return (lower + upper) / 2;
}

double median_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return median(distances);
}

double mean(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("mean of no values");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double geometric_mean(std::span<const double> values) {
  std::vector<double> logarithms;
  for (const double value : values) logarithms.push_back(std::log(value));
  return std::exp(mean(logarithms));
}

double quantile(std::span<const double> values, double share) {
  if (values.empty()) throw std::invalid_argument("quantile of no values");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

double median_interval_coverage(std::size_t n, std::size_t low, std::size_t high) {
  // The median lies between the ranks unless fewer than `low` or at least `high` values are below.
  double coverage = 0;
  for (std::size_t k = low; k < high; ++k) coverage += binomial_half(n, k);
  return coverage;
}

std::pair<std::size_t, std::size_t> median_interval_ranks(std::size_t n) {
  if (n == 0) throw std::invalid_argument("interval of no values");
  constexpr double kConfidence = 0.95;
  std::size_t low = 1;
  while (low + 1 <= n - low && median_interval_coverage(n, low + 1, n - low) >= kConfidence) ++low;
  return {low, n + 1 - low};
}

namespace {

// A figure of each of `count` blocks of neighbours.
std::vector<double> of_blocks(std::span<const double> samples, std::size_t count,
                              double (*figure)(std::span<const double>)) {
  std::vector<double> figures;
  figures.reserve(count);
  for (std::size_t block = 0; block < count; ++block) {
    const std::size_t begin = block * samples.size() / count;
    const std::size_t end = (block + 1) * samples.size() / count;
    figures.push_back(figure(samples.subspan(begin, end - begin)));
  }
  return figures;
}

constexpr std::size_t kTenth = 10;

// The median of the `count` fastest blocks, at least one.
double median_of_fastest(std::span<const double> blocks, std::size_t count) {
  std::vector<double> sorted(blocks.begin(), blocks.end());
  std::ranges::sort(sorted);
  sorted.resize(std::min(sorted.size(), std::max<std::size_t>(1, count)));
  return median(sorted);
}

// The mean without 10 %, at least one value, at either end; of all if there are fewer than three.
double trimmed_mean(std::span<const double> blocks) {
  if (blocks.size() < 3) return mean(blocks);
  std::vector<double> sorted(blocks.begin(), blocks.end());
  std::ranges::sort(sorted);
  const std::size_t left_out = std::max<std::size_t>(1, blocks.size() / kTenth);
  return mean(std::span(sorted).subspan(left_out, sorted.size() - 2 * left_out));
}

}  // namespace

double uncertainty(std::span<const double> blocks, Estimate estimate) {
  switch (estimate) {
    case Estimate::kMedian:
      return standard_error(blocks);
    case Estimate::kTrimmedMean:
    case Estimate::kMean:
      return standard_error(blocks) / kMedianOverMean;
    case Estimate::kFastestTenth:
      break;
  }
  constexpr std::size_t kQuarter = 4;
  return median_of_fastest(blocks, blocks.size() / kQuarter) / estimated(blocks, estimate) - 1;
}

double estimated(std::span<const double> blocks, Estimate estimate) {
  switch (estimate) {
    case Estimate::kMedian:
      return median(blocks);
    case Estimate::kTrimmedMean:
      return trimmed_mean(blocks);
    case Estimate::kMean:
      return mean(blocks);
    case Estimate::kFastestTenth:
      break;
  }
  return median_of_fastest(blocks, blocks.size() / kTenth);
}

Summary summarize(std::span<const double> blocks) {
  if (blocks.empty()) throw std::invalid_argument("summary of no values");
  std::vector<double> sorted(blocks.begin(), blocks.end());
  std::sort(sorted.begin(), sorted.end());
  const auto [low, high] = median_interval_ranks(sorted.size());
  return {.median = median(sorted),
          .ci_low = sorted[low - 1],
          .ci_high = sorted[high - 1],
          .min = sorted.front(),
          .max = sorted.back(),
          .n = static_cast<std::int64_t>(sorted.size())};
}

std::size_t correlation_length(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < 4) return 1;
  const Autocorrelation correlation(samples);
  for (std::size_t lag = 1; lag < n / 2; ++lag)
    if (correlation(lag) < correlation.noise()) return lag;
  return n;
}

std::vector<double> block_medians(std::span<const double> samples, std::size_t count) {
  return of_blocks(samples, count, median);
}
std::vector<double> block_means(std::span<const double> samples, std::size_t count) {
  return of_blocks(samples, count, mean);
}

bool drifts(std::span<const double> values, double tolerance) {
  return drifts(std::span(&values, 1), tolerance);
}

bool drifts(std::span<const std::span<const double>> stretches, double tolerance) {
  std::size_t total = 0;
  double concordance = 0, variance = 0, shift = 0;
  for (const auto& values : stretches) {
    const std::size_t n = values.size();
    if (n < 3) return false;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        concordance += (values[j] > values[i]) - (values[j] < values[i]);
    const auto dn = static_cast<double>(n);
    variance += dn * (dn - 1) * (2 * dn + 5) / 18;
    shift += (median(values.last(n / 3)) - median(values.first(n / 3))) / median(values);
    total += n;
  }
  return total >= kFewestForTrend && std::abs(concordance) >= kTrendZ * std::sqrt(variance) &&
         std::abs(shift) > tolerance * static_cast<double>(stretches.size());
}

bool has_two_levels(std::span<const double> values, double tolerance) {
  const std::size_t n = values.size();
  if (n < kFewestForLevels) return false;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[n / 2];
  double total = 0, total_squares = 0;
  for (double& v : sorted) {
    v -= middle;  // keeps digits of small differences
    total += v;
    total_squares += v * v;
  }
  // The split with the least scatter within groups is the one with the most between them.
  double sum = 0, best_between = 0, gap = 0, rarer = 0;
  for (std::size_t i = 1; i < n; ++i) {
    sum += sorted[i - 1];
    if (i * kRarestLevel < n || (n - i) * kRarestLevel < n) continue;
    const double low = static_cast<double>(i), high = static_cast<double>(n - i);
    const double distance = (total - sum) / high - sum / low;
    const double between = distance * distance * low * high / static_cast<double>(n);
    if (between <= best_between) continue;
    best_between = between;
    gap = distance;
    rarer = std::min(low, high) / static_cast<double>(n);
  }
  const double mean = total / static_cast<double>(n);
  const double within = total_squares - static_cast<double>(n) * mean * mean - best_between;
  const double scatter = std::sqrt(std::max(0.0, within) / static_cast<double>(n - 2));
  return 2 * rarer * gap > tolerance * middle &&
         gap > (n < kFew ? kLevelGapOfFew : kLevelGap) * scatter;
}

double standard_error(std::span<const double> blocks) {
  const double center = median(blocks);
  const auto n = static_cast<double>(blocks.size());
  if (blocks.size() < 2) return 0;
  double mean = 0, squares = 0;
  for (const double block : blocks) mean += block / n;
  for (const double block : blocks) squares += (block - mean) * (block - mean);
  const double correlation = neighbour_correlation(blocks);
  return kMedianOverMean *
         std::sqrt(squares / (n - 1) / n * (1 + correlation) / (1 - correlation)) / center;
}

bool varies(std::span<const double> blocks, double tolerance) {
  return drifts(blocks, tolerance) || has_two_levels(blocks, tolerance) ||
         (neighbour_correlation(blocks) > 0 && 2 * standard_error(blocks) > tolerance);
}

double student_quantile(double tail, std::size_t degrees) {
  double low = 0, high = 1;
  const auto beyond = [&](double t) { return (1 - student_inside(t, degrees)) / 2 > tail; };
  while (beyond(high)) high *= 2;
  while (high - low > 1e-9 * high) {
    const double middle = (low + high) / 2;
    (beyond(middle) ? low : high) = middle;
  }
  return high;
}

std::optional<double> settling_time(std::span<const double> time_s, std::span<const double> values,
                                    double tolerance) {
  if (time_s.size() != values.size()) throw std::invalid_argument("settling_time: sizes differ");
  constexpr std::size_t kFewest = 8;
  const bool known = std::ranges::none_of(values, [](double value) { return std::isnan(value); });
  if (values.size() < kFewest || !known) return std::nullopt;
  const double end_s = time_s.back();
  const double last_quarter_s = time_s.front() + 0.75 * (end_s - time_s.front());
  const auto last =
      static_cast<std::size_t>(std::ranges::lower_bound(time_s, last_quarter_s) - time_s.begin());
  const double limit = median(values.subspan(last));
  std::size_t settled = values.size();
  while (settled > 0 && std::abs(values[settled - 1] - limit) <= tolerance) --settled;
  if (settled == values.size() || time_s[settled] >= last_quarter_s) return std::nullopt;
  return time_s[settled];
}

Line fit_line(std::span<const double> x, std::span<const double> time_s) {
  if (x.size() != time_s.size()) throw std::invalid_argument("fit_line: sizes differ");
  double sw = 0, sx = 0, sxx = 0, sy = 0, sxy = 0;
  // Only ratios of weights matter; relative to one of the times they do not overflow or vanish.
  const double unit = time_s.empty() ? 1 : time_s[0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = (unit / time_s[i]) * (unit / time_s[i]);
    sw += w;
    sx += w * x[i];
    sxx += w * x[i] * x[i];
    sy += w * time_s[i];
    sxy += w * x[i] * time_s[i];
  }
  const double determinant = sw * sxx - sx * sx;
  if (x.size() < 2 || !(determinant > 1e-12 * sw * sxx))
    throw std::invalid_argument("fit_line: needs two different x");
  return {.fixed = (sy * sxx - sx * sxy) / determinant,
          .per_item = (sw * sxy - sx * sy) / determinant};
}

std::optional<Line> line_through_sizes(std::span<const double> x, std::span<const double> time_s) {
  constexpr std::size_t kFewest = 3;
  if (std::set(x.begin(), x.end()).size() < kFewest) return std::nullopt;
  return fit_line(x, time_s);
}

}  // namespace peakline

#include "harness/core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace peakline {
namespace {

// std::lgamma would write the global signgam, from whichever thread calls it.
double log_factorial(double n) {
  int sign = 0;
  return ::lgamma_r(n + 1, &sign);
}

// P(X = k) for X ~ Binomial(n, 1/2), by logarithms so that n in the thousands does not underflow.
double binomial_half(std::size_t n, std::size_t k) {
  const auto dn = static_cast<double>(n);
  const auto dk = static_cast<double>(k);
  return std::exp(log_factorial(dn) - log_factorial(dk) - log_factorial(dn - dk) -
                  dn * std::log(2.0));
}

// The relative half width of the interval; infinite for a median of 0.
double noise(const Summary& summary) {
  const double half = std::max(summary.ci_high - summary.median, summary.median - summary.ci_low);
  return summary.median > 0 ? half / summary.median : INFINITY;
}

// Two-sided 1 % point of the normal distribution.
constexpr double kTrendZ = 2.576;
// The fewest values for which the normal approximation of Kendall's tau is used.
constexpr std::size_t kFewestForTrend = 7;

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

double median_interval_coverage(std::size_t n, std::size_t low, std::size_t high) {
  // The median lies between order statistics low and high unless fewer than `low` or at least
  // `high` of the n values fall below it.
  double coverage = 0;
  for (std::size_t k = low; k < high; ++k) coverage += binomial_half(n, k);
  return coverage;
}

std::pair<std::size_t, std::size_t> median_interval_ranks(std::size_t n, double confidence) {
  if (n == 0) throw std::invalid_argument("interval of no values");
  std::size_t low = 1;
  while (low + 1 <= n - low && median_interval_coverage(n, low + 1, n - low) >= confidence) ++low;
  return {low, n + 1 - low};
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
  // Ranks instead of values: one interrupted sample must not hide the correlation of the others.
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return samples[a] < samples[b]; });
  std::vector<double> rank(n);
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;  // ties share their mean rank
    while (end < n && samples[order[end]] == samples[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) rank[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  const double mean = static_cast<double>(n - 1) / 2;
  double variance = 0;
  for (const double r : rank) variance += (r - mean) * (r - mean);
  if (variance == 0) return 1;
  const double inside_noise = 2 / std::sqrt(static_cast<double>(n));
  for (std::size_t lag = 1; lag < n / 2; ++lag) {
    double covariance = 0;
    for (std::size_t i = 0; i + lag < n; ++i)
      covariance += (rank[i] - mean) * (rank[i + lag] - mean);
    if (covariance / variance < inside_noise) return lag;
  }
  return n;
}

std::vector<double> block_medians(std::span<const double> samples, std::size_t count) {
  std::vector<double> medians;
  medians.reserve(count);
  for (std::size_t block = 0; block < count; ++block) {
    const std::size_t begin = block * samples.size() / count;
    const std::size_t end = (block + 1) * samples.size() / count;
    medians.push_back(median(samples.subspan(begin, end - begin)));
  }
  return medians;
}

bool drifts(std::span<const double> values, double tolerance) {
  const std::size_t n = values.size();
  if (n < kFewestForTrend) return false;
  double concordance = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      concordance += (values[j] > values[i]) - (values[j] < values[i]);
  const auto dn = static_cast<double>(n);
  const double deviation = std::sqrt(dn * (dn - 1) * (2 * dn + 5) / 18);
  if (std::abs(concordance) < kTrendZ * deviation) return false;
  const double first = median(values.first(n / 3));
  const double last = median(values.last(n / 3));
  return std::abs(last - first) > tolerance * median(values);
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kPrecise:
      return "precise";
    case StopReason::kTimeUp:
      return "time_up";
    case StopReason::kSampleLimit:
      return "sample_limit";
  }
  return "";
}

SamplingRule full_rule(double max_noise, double time_limit_s, std::size_t min_samples) {
  SamplingRule rule;
  rule.min_samples = std::max<std::size_t>(min_samples, 2 * rule.blocks);
  rule.max_noise = max_noise;
  rule.time_limit_s = time_limit_s;
  return rule;
}

SamplingRule curve_rule(double max_noise) {
  return {.min_samples = kFewestSamples,
          .max_samples = kFewestSamples,
          .max_noise = max_noise,
          .blocks = kFewestSamples};
}

SamplingRule single_sample_rule() {
  return {.min_samples = 1, .max_samples = 1, .blocks = 1, .fewest_samples = 1};
}

Sampling collect(const SamplingRule& rule,
                 const std::function<std::vector<double>(std::size_t n)>& take,
                 const std::function<double()>& now_s) {
  const double start_s = now_s();
  std::vector<double> samples;
  Sampling sampling;
  for (std::size_t look = rule.min_samples;; look = std::min(2 * look, rule.max_samples)) {
    bool time_up = false;
    while (samples.size() < look && !time_up) {
      const std::vector<double> more = take(look - samples.size());
      samples.insert(samples.end(), more.begin(), more.end());
      time_up = samples.size() >= rule.fewest_samples && now_s() - start_s >= rule.time_limit_s;
    }
    sampling.blocks = block_medians(samples, std::min(rule.blocks, samples.size()));
    sampling.summary = summarize(sampling.blocks);
    sampling.samples = samples.size();
    // Correlation is harmless where all blocks agree anyway, and blocks of one sample each are the
    // samples themselves: a curve point, which claims no more.
    const bool blocks_agree =
        sampling.summary.max - sampling.summary.min <= rule.max_noise * sampling.summary.median;
    const bool blocks_correlated =
        !blocks_agree && samples.size() >= 2 * rule.blocks &&
        correlation_length(samples) > samples.size() / sampling.blocks.size();
    sampling.unstable = drifts(sampling.blocks, 2 * rule.max_noise);
    if (!blocks_correlated && noise(sampling.summary) <= rule.max_noise &&
        samples.size() >= rule.min_samples) {
      sampling.stop = StopReason::kPrecise;
      return sampling;
    }
    if (time_up || samples.size() >= rule.max_samples) {
      sampling.stop = time_up ? StopReason::kTimeUp : StopReason::kSampleLimit;
      sampling.unstable = sampling.unstable || blocks_correlated;
      return sampling;
    }
  }
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
  // Only ratios of weights matter; relative to one of the times they neither overflow nor vanish.
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

}  // namespace peakline

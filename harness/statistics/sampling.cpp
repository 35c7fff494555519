#include "harness/statistics/sampling.hpp"

#include <algorithm>
#include <cmath>

#include "harness/statistics/statistics.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Blocks must exceed this many correlation lengths; with one, the interval's coverage falls by 10 %
// at a lag-1 correlation of 0.9.
constexpr std::size_t kLengthsPerBlock = 3;
// Range of ten normal values over their median absolute deviation: 3.08 / 0.67 standard deviations.
constexpr double kRangeInDeviations = 4.6;
// Agreeing blocks lie at most this multiple of the tolerance apart.
constexpr double kFarthest = 2;

// Relative half width of the interval; infinite for a median of 0.
double noise(const Summary& summary) {
  const double half = std::max(summary.ci_high - summary.median, summary.median - summary.ci_low);
  return summary.median > 0 ? half / summary.median : INFINITY;
}

}  // namespace

std::string_view to_string(StopReason reason) {
  return name_of({"precise", "time_up", "sample_limit"}, reason);
}

SamplingRule full_rule(double max_noise, double tolerance, double time_limit_s,
                       std::size_t min_samples, std::size_t blocks) {
  const std::size_t share = std::max(min_samples * blocks / kBlocks, blocks);
  return {.min_samples = share,
          .min_time_s = SamplingRule{}.min_time_s * static_cast<double>(share) /
                        static_cast<double>(kMinSamples),
          .max_noise = max_noise,
          .tolerance = tolerance,
          .time_limit_s = time_limit_s,
          .blocks = blocks,
          .fewest_samples = blocks};
}

SamplingRule curve_rule(double max_noise, double tolerance) {
  return {.min_samples = kFewestSamples,
          .max_samples = kFewestSamples,
          .max_noise = max_noise,
          .tolerance = tolerance,
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
  for (std::size_t look = rule.min_samples;;
       look = std::min(2 * samples.size(), rule.max_samples)) {
    const bool first = sampling.blocks.empty();
    bool time_up = false, long_enough = false;
    while (samples.size() < look && !time_up && !long_enough) {
      const std::vector<double> more = take(look - samples.size());
      samples.insert(samples.end(), more.begin(), more.end());
      const double elapsed_s = now_s() - start_s;
      time_up = samples.size() >= rule.fewest_samples && elapsed_s >= rule.time_limit_s;
      long_enough = first && samples.size() >= rule.blocks && elapsed_s >= rule.min_time_s;
    }
    sampling.blocks = block_medians(samples, std::min(rule.blocks, samples.size()));
    sampling.summary = summarize(sampling.blocks);
    sampling.samples = samples.size();
    // Correlation is harmless where all blocks agree. Points of a curve use single samples as
    // blocks and claim no more.
    const std::size_t length = correlation_length(samples);
    const Summary& summary = sampling.summary;
    const double allowed = rule.tolerance * summary.median;
    const bool blocks_correlated =
        rule.max_samples > rule.blocks && length > 1 && summary.max - summary.min > allowed &&
        kLengthsPerBlock * length > samples.size() / sampling.blocks.size();
    sampling.unstable =
        drifts(sampling.blocks, rule.tolerance) || has_two_levels(samples, rule.tolerance);
    if (!blocks_correlated && noise(sampling.summary) <= rule.max_noise &&
        (samples.size() >= look || long_enough)) {
      sampling.stop = StopReason::kPrecise;
      return sampling;
    }
    if (time_up || samples.size() >= rule.max_samples) {
      sampling.stop = time_up ? StopReason::kTimeUp : StopReason::kSampleLimit;
      // A few slow blocks do not move the median: an H200's clock drops by 0.8 % for some
      // milliseconds now and then.
      const bool few_differ = kRangeInDeviations * median_deviation(sampling.blocks) <= allowed &&
                              summary.max - summary.min <= kFarthest * allowed;
      sampling.unstable = sampling.unstable || (blocks_correlated && !few_differ);
      return sampling;
    }
  }
}

}  // namespace peakline

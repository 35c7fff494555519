#include "harness/statistics/sampling.hpp"

#include <algorithm>
#include <cmath>

#include "harness/statistics/statistics.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Blocks are longer than this number of correlation lengths: those of length one lose a tenth of
// the coverage at a lag-1 correlation of 0.9.
constexpr std::size_t kLengthsPerBlock = 3;
// How far ten values range, in medians of their distances from the median: of normal ones 3.08 of
// 0.67 standard deviations.
constexpr double kRangeInDeviations = 4.6;
// The most that agreeing blocks may lie apart, as a multiple of the tolerance, even if they are
// few.
constexpr double kFarthest = 2;

// The relative half width of the interval; infinite for a median of 0.
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
    // Correlation is harmless where all blocks agree anyway. A curve point, whose blocks are the
    // samples themselves, claims no more.
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
      // A few slow blocks together do not move the median: an H200's clock is 0.8 % lower for some
      // milliseconds now and then.
      const bool few_differ = kRangeInDeviations * median_deviation(sampling.blocks) <= allowed &&
                              summary.max - summary.min <= kFarthest * allowed;
      sampling.unstable = sampling.unstable || (blocks_correlated && !few_differ);
      return sampling;
    }
  }
}

}  // namespace peakline

#include "harness/benchmark/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/conclude/sittings.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {
namespace {

// Time limits of the full timing per sitting.
constexpr double kFullTimeLimitS = 0.4;
constexpr double kFullTimeLimitQuickS = 0.15;
// Shorter for several GPUs: figures vary between runs rather than copies, and points are many.
constexpr double kFullTimeLimitNodeS = 0.3;

}  // namespace

Bench::Bench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
             WorkerCache& cache, RoundMember* round)
    : benchmark_(benchmark),
      point_(point),
      options_(options),
      cache_(cache),
      record_(unmeasured(benchmark, point)),
      round_(round) {}

std::int64_t Bench::integer(std::string_view name) const {
  if (const auto value = int_param(point_.params, name)) return *value;
  throw std::logic_error(fmt::format("{} has no integer parameter {}", benchmark_.id, name));
}

std::string Bench::text(std::string_view name) const {
  if (const auto value = text_param(point_.params, name)) return *value;
  throw std::logic_error(fmt::format("{} has no text parameter {}", benchmark_.id, name));
}

void Bench::note(std::string_view name, ParamValue value) {
  const auto noted = std::ranges::find(record_.launch, name, &LaunchFacts::value_type::first);
  if (noted != record_.launch.end())
    noted->second = std::move(value);
  else
    record_.launch.emplace_back(name, std::move(value));
}

void Bench::remark(const std::string& text) {
  if (text.empty() || record_.reason.find(text) != std::string::npos) return;
  if (!record_.reason.empty()) record_.reason += "; ";
  record_.reason += text;
}

void Bench::verify(const std::function<std::string()>& find_mismatch) {
  if (!options_.verify) return;
  record_.verified = false;
  const std::string mismatch = find_mismatch();
  if (!mismatch.empty()) throw WrongResult("wrong result: " + mismatch);
  record_.verified = true;
}

void Bench::begin_round() {
  const bool whole = round_ != nullptr && round_->begin();
  if (point_.whole_round && !whole)
    throw Skipped("the other GPUs could not be measured at the same time");
}

const std::any& Bench::recall(const std::string& name, const std::function<std::any()>& make) {
  auto found = cache_.find(name);
  if (found == cache_.end()) {
    LaunchFacts notes = std::exchange(record_.launch, {});
    std::string remarks = std::exchange(record_.reason, {});
    std::any value = make();
    Remembered made{.value = std::move(value),
                    .notes = std::exchange(record_.launch, std::move(notes)),
                    .remarks = std::exchange(record_.reason, std::move(remarks))};
    found = cache_.emplace(name, std::move(made)).first;
  }
  for (const auto& [noted, value] : found->second.notes) note(noted, value);
  remark(found->second.remarks);
  return found->second.value;
}

SamplingRule Bench::sampling_rule() const {
  if (options_.profile) return single_sample_rule();
  const double tolerance = tolerated_shift(benchmark_, point_);
  if (point_.timing == Timing::kCurve) return curve_rule(options_.max_noise, tolerance);
  const double time_limit_s = options_.quick          ? kFullTimeLimitQuickS
                              : is_node_point(point_) ? kFullTimeLimitNodeS
                                                      : kFullTimeLimitS;
  return full_rule(options_.max_noise, tolerance, time_limit_s, options_.min_samples,
                   kBlocks / sittings_of(benchmark_, point_));
}

double Bench::value_of(const Work& work, double time_s) const {
  return *value_in(unit_of(benchmark_.quantity), work, time_s);
}

std::vector<double> Bench::seconds_of_calls(const std::function<void()>& call,
                                            const std::function<void()>& before) const {
  std::vector<double> seconds;
  const double end_s = now_s() + point_.load_s;
  do {
    if (before) before();
    const double begin_s = now_s();
    call();
    seconds.push_back(now_s() - begin_s);
  } while (now_s() < end_s && !options_.profile);
  return seconds;
}

void Bench::finish_blocks(const Work& work, std::vector<double> blocks,
                          std::int64_t launches_per_sample) {
  if (options_.profile) remark("single launch under a profiler: not a reliable figure");
  if (blocks.size() > kMaxSamples) blocks = block_medians(blocks, kMaxSamples);
  record_.work = work;
  record_.launches_per_sample = launches_per_sample;
  record_.summary = summarize(blocks);
  record_.flags.unstable = varies(blocks, tolerated_shift(benchmark_, point_));
  record_.estimate = benchmark_.estimate;
  record_.value = value_of(work, estimated(blocks, benchmark_.estimate));
  record_.samples_s = std::move(blocks);
}

void Bench::finish(const Work& work, const Sampling& sampling, std::int64_t launches_per_sample) {
  finish_blocks(work, sampling.blocks, launches_per_sample);
  record_.flags.unstable = sampling.unstable;   // by the samples, not the blocks
  if (point_.timing == Timing::kCurve) return;  // always seven samples
  note("samples", static_cast<std::int64_t>(sampling.samples));
  note("stop", std::string(to_string(sampling.stop)));
}

}  // namespace peakline::bench

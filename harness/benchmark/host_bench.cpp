#include "harness/benchmark/host_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <memory>
#include <string>

#include "harness/host/facts.hpp"
#include "harness/host/topology.hpp"
#include "harness/values/clock.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

// Much longer than starting threads and reading the clock, and than most interruptions.
constexpr double kSampleSeconds = 2e-3;
// Long enough for a frequency governor to react.
constexpr double kWarmUpSeconds = 0.03;
constexpr double kWarmUpCurveSeconds = 0.01;
// Per sitting: the host's part has five seconds in total, 1.5 in quick mode.
constexpr double kTimeLimitSeconds = 0.25;
constexpr double kTimeLimitQuickSeconds = 0.06;
// Time between checks of the stopping rule.
constexpr double kTakeSeconds = 0.02;

// In multiples of the caches: reads come from memory, except what the caches keep between passes.
constexpr double kCacheMultiple = 4;
constexpr double kFewestCaches = 2;
constexpr double kSmallestBytes = 256 * kMiB;
// Twice the largest servers' caches; some hypervisors report the socket's cache per CPU.
constexpr double kLargestBytes = 8 * kGiB;
constexpr double kShareOfFreeMemory = 0.25;

}  // namespace

host::Team& HostBench::team(int threads) {
  using Shared = std::shared_ptr<host::Team>;
  std::any& kept = cache_["host.team"].value;
  const auto* const team = std::any_cast<Shared>(&kept);
  if (team != nullptr && (*team)->size() == threads) return **team;
  kept.reset();  // end the old threads before starting new ones
  return *kept.emplace<Shared>(std::make_shared<host::Team>(threads));
}

void HostBench::measure(const Work& work, const host::Team::Part& launch, int threads) {
  host::Team& members = team(threads);
  note("threads", static_cast<std::int64_t>(threads));
  if (!members.bound()) remark("threads could not be bound to CPUs");
  const double warm_up_s = timing() == Timing::kCurve ? kWarmUpCurveSeconds : kWarmUpSeconds;
  const std::int64_t launches =
      options().profile ? 1 : members.warm_up(launch, warm_up_s, kSampleSeconds);
  SamplingRule rule = sampling_rule();
  rule.time_limit_s =
      std::min(rule.time_limit_s, options().quick ? kTimeLimitQuickSeconds : kTimeLimitSeconds);
  double sample_s = kSampleSeconds;
  const auto take = [&](std::size_t wanted) {
    const auto fits = static_cast<std::size_t>(std::max(1.0, kTakeSeconds / sample_s));
    std::vector<double> samples = members.time_batches(launch, launches, std::min(wanted, fits));
    sample_s = samples.back() * static_cast<double>(launches);
    return samples;
  };
  finish(work, collect(rule, take, now_s), launches);
}

void HostBench::measure_calls(const Work& work, const std::function<void()>& call,
                              const std::function<void()>& before) {
  finish_blocks(work, seconds_of_calls(call, before), 1);
}

HostArrays::HostArrays(HostBench& bench, int arrays, int threads, std::size_t granule)
    : threads_(threads) {
  cache_bytes_ =
      host::Topology::usable().last_level_cache_bytes(bench.team(threads).cpus()).value_or(0);
  const double wanted = std::clamp(kCacheMultiple * cache_bytes_, kSmallestBytes, kLargestBytes);
  const double allowed =
      kShareOfFreeMemory * host::available_memory_bytes().value_or(kLargestBytes);
  const auto granules = [&](double bytes) {
    return bytes / (static_cast<double>(granule) * arrays * threads);
  };
  const double count = std::min(std::ceil(granules(wanted)), std::floor(granules(allowed)));
  slice_bytes_ = static_cast<std::size_t>(count) * granule;
  const double total = static_cast<double>(array_bytes()) * arrays;
  if (total < std::max(kFewestCaches * cache_bytes_, kSmallestBytes / kCacheMultiple))
    throw Skipped(
        fmt::format("a quarter of the free memory ({}) is too small compared with {} of cache",
                    format_size(allowed), format_size(cache_bytes_)));
  if (total < wanted)
    bench.remark(fmt::format("footprint reduced from {} to {}, a quarter of the free memory",
                             format_size(wanted), format_size(total)));
  for (int array = 0; array < arrays; ++array) buffers_.emplace_back(array_bytes());
}

void HostArrays::describe(HostBench& bench) const {
  bench.note("footprint_bytes",
             static_cast<std::int64_t>(array_bytes()) * static_cast<std::int64_t>(buffers_.size()));
  bench.note("cache_bytes", static_cast<std::int64_t>(cache_bytes_));
  const bool huge = std::all_of(buffers_.begin(), buffers_.end(),
                                [](const host::HostBuffer& b) { return b.huge_pages_advised(); });
  bench.note("pages", std::string(huge ? "huge, advised" : "default"));
}

}  // namespace peakline::bench

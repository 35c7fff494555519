#include "harness/benchmark/candidate_search.hpp"

#include <optional>
#include <stdexcept>

#include "harness/cuda/telemetry.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {

using cuda::Sampler;
using cuda::Telemetry;

std::vector<std::size_t> rank_candidates(Sampler& sampler, std::size_t count,
                                         const std::function<cuda::Launch(std::size_t)>& launch_of,
                                         const SearchTime& time, const SearchCost& cost) {
  if (count == 0) throw std::invalid_argument("search without candidates");
  if (sampler.repeats(count) == 1) return {0};
  const double deadline_s = now_s() + time.seconds;
  std::optional<double> clock_hz;  // latest readable
  bool in_cycles = cost.in_cycles;
  bool warm = false;
  const auto cost_of = [&](std::size_t i, std::size_t samples) {
    const cuda::Launch launch = launch_of(i);
    // Or the first candidates would be timed, and dropped, while clocks still ramp up.
    if (!warm) sampler.warm_up_for(launch, time.warm_up_s);
    warm = true;
    sampler.warm_up(launch);  // loads its code
    const double launch_s = sampler.warm_up(launch);
    // Cycles, as a clock that falls during the search would favour the first candidates.
    const Sampler::Timing timing = sampler.time_batches(
        launch, sampler.launches_for(launch, cuda::kSampleSeconds, launch_s), samples);
    if (timing.sm_clock_hz) clock_hz = timing.sm_clock_hz;
    in_cycles &= clock_hz.has_value();  // units must not change between candidates
    const double price = median(timing.launch_s) * (in_cycles ? clock_hz.value_or(1.0) : 1.0);
    return cost.work_of ? price / cost.work_of(i) : price;
  };
  const auto out_of_time = [&] { return warm && now_s() > deadline_s; };
  return search(count, cost_of, out_of_time, cost.tolerance).ranking;
}

}  // namespace peakline::bench

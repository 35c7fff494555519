#include "harness/benchmark/cuda_bench.hpp"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "harness/core/search.hpp"
#include "harness/cuda/device.hpp"

namespace peakline::bench {
namespace {

using cuda::Telemetry;

// A sample must last well beyond the microsecond by which events jitter.
constexpr double kSampleSeconds = 5e-4;
// Host-timed samples: beyond interrupts and the clock's own cost.
constexpr double kHostSampleSeconds = 2e-4;
// Clocks need some tens of ms to come up after a pause.
constexpr double kWarmUpSeconds = 0.03;
constexpr double kWarmUpCurveSeconds = 0.003;

// During a search the clock is read this often: power control moves it within some tens of ms.
constexpr double kClockStaleSeconds = 0.02;

// A train is long enough to fill the chip many times over and too short for the power control to
// react, which takes 50 to 100 ms on an H200. The rest before it lets the power average fall: to a
// sixth of the load's. (There, rests of 0.05 to 0.5 s give the same BF16 and FP8 rates to
// within 0.5 %.)
constexpr double kTrainSeconds = 0.010;
constexpr std::int64_t kTrainLaunches = 5;
constexpr double kRestSeconds = 0.05;
constexpr int kTrains = 10;
// Kernels that one launch of a candidate may enqueue.
constexpr std::int64_t kSearchedOperations = 2;
// In a search: the mean load stays at two fifths, far below the cap.
constexpr double kTrainShortSeconds = 0.004;
constexpr double kRestShortSeconds = 0.008;
// A train more, of which only the clock is read.
constexpr int kClockTrains = 1;
// --quick: the fewest trains that have a 95 % interval.
constexpr int kTrainsQuick = 6;
// For points of which there are many: the mean load stays at a quarter of the full one.
constexpr double kRestBriefSeconds = 0.03;
constexpr int kTrainsBrief = 6;

// An unbroken load is sustained after this time. Loads that follow one another count together.
constexpr double kSustainedSeconds = 5.0;
// Longer pauses than between two points that share a search let the card recover.
constexpr double kLongestPauseSeconds = 0.5;
// What counts of a load is its last third, but at least this long: ten steps of the energy counter.
constexpr double kSettledSeconds = 1.2;
constexpr double kSettledShare = 1.0 / 3.0;
// Its own share of a load that follows others: the power control has long settled by then.
constexpr double kSustainedOwnSeconds = 1.35;
// The way from burst to sustained is in the series of the first of them, if it starts from rest.
constexpr double kRestBeforeLoadSeconds = 0.15;
// One of many loads: what counts is one swing of the power control, which on an H200 goes up and
// down by some percent about every 0.6 s.
constexpr double kLoadedSeconds = 0.65;
constexpr double kLoadedSettledSeconds = 0.55;
constexpr double kIntervalSeconds = 0.05;
// The way from burst to sustained is over within 0.2 s.
constexpr double kFirstSeconds = 0.2;
constexpr double kFirstIntervalSeconds = 0.01;
constexpr std::size_t kSettledBlocks = 20;
// Points of a time series that stay in the profile after the first ones.
constexpr std::size_t kSeriesPoints = 50;
// NVML's temperature comes in whole degrees.
constexpr double kEquilibriumC = 1.0;

// Left free when memory is short: context, cuBLAS workspaces, the driver's own needs.
constexpr double kMemoryReserve = 512.0 * 1024 * 1024;

// Launches that are timed apart come in trains as well, of which the first ones do not count.
constexpr std::size_t kApartFirst = 50, kApartTimed = 100;

// How long data moves while the link's state is read.
constexpr double kLinkLoadSeconds = 0.02;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// What is left of `count` points where those from `first` on are taken together in groups of equal
// size, so that at most `most` of them remain: the median of each group.
std::vector<double> thinned(const std::vector<double>& values, std::size_t first,
                            std::size_t most) {
  if (values.size() <= first + most) return values;
  std::vector<double> kept(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first));
  const std::size_t rest = values.size() - first;
  for (std::size_t group = 0; group < most; ++group) {
    std::vector<double> known;
    for (std::size_t i = first + group * rest / most; i < first + (group + 1) * rest / most; ++i)
      if (!std::isnan(values[i])) known.push_back(values[i]);
    kept.push_back(known.empty() ? kUnknown : median(known));
  }
  return kept;
}

Series thinned(const Series& series) {
  const auto first = static_cast<std::size_t>(
      std::lower_bound(series.time_s.begin(), series.time_s.end(), kFirstSeconds) -
      series.time_s.begin());
  const auto of = [&](const std::vector<double>& values) {
    return thinned(values, first, kSeriesPoints);
  };
  return {.time_s = of(series.time_s),
          .rate = of(series.rate),
          .sm_clock_hz = of(series.sm_clock_hz),
          .power_w = of(series.power_w),
          .temperature_c = of(series.temperature_c)};
}

class NvtxRange {
 public:
  explicit NvtxRange(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

void rest(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

CudaSession::CudaSession(const cuda::Nvml* nvml)
    : facts(cuda::device_facts()), sampler(launch_clock_probe), telemetry(nvml, facts.uuid) {}

CudaBench::CudaBench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
                     Memory& memory, CudaSession& session)
    : Bench(benchmark, point, options, memory), session_(session) {}

std::size_t CudaBench::fit_memory(std::size_t bytes, std::size_t granule) {
  const double free = cuda::free_memory_bytes() - kMemoryReserve;
  if (static_cast<double>(bytes) <= free) return bytes / granule * granule;
  const auto granules = static_cast<std::size_t>(std::max(0.0, free)) / granule;
  if (granules == 0)
    throw Skipped(fmt::format("needs {} MiB of device memory, {} MiB are free", bytes >> 20,
                              static_cast<std::int64_t>(std::max(0.0, free)) >> 20));
  const std::size_t fitted = granules * granule;
  remark(fmt::format("footprint shrunk from {} MiB to {} MiB, which are free", bytes >> 20,
                     fitted >> 20));
  return fitted;
}

double CudaBench::launch_once(const Launch& launch) { return session_.sampler.warm_up(launch); }

double CudaBench::time_roughly(const Launch& launch) {
  if (options_.profile) return session_.sampler.warm_up(launch);
  return session_.sampler.warm_up_for(launch, kWarmUpSeconds);
}

std::int64_t CudaBench::train_launches(double launch_s) const {
  return std::max(kTrainLaunches, session_.sampler.launches_for(kTrainSeconds, launch_s));
}

double CudaBench::time_trains(const Launch& launch, int trains, double rest_s) {
  session_.sampler.describe_work(false, kSearchedOperations);
  if (options_.profile) return session_.sampler.warm_up(launch);
  const std::int64_t launches =
      train_launches(session_.sampler.warm_up_for(launch, kWarmUpCurveSeconds));
  std::vector<double> train_s;
  for (int train = 0; train < trains; ++train) {
    rest(rest_s);
    train_s.push_back(session_.sampler.time_batches(launch, launches, 1).front());
  }
  return median(train_s);
}

double CudaBench::time_short_train(const Launch& launch) {
  cuda::Sampler& sampler = session_.sampler;
  sampler.describe_work(false, kSearchedOperations);
  const double launch_s = sampler.warm_up(launch);
  if (options_.profile) return launch_s;
  rest(kRestShortSeconds);
  return sampler.time_batches(launch, sampler.launches_for(kTrainShortSeconds, launch_s), 1)
      .front();
}

void CudaBench::measure(const Work& work, const Launch& launch, const LaunchShape& shape) {
  const NvtxRange range(record_.name());
  session_.sampler.describe_work(shape.stamps, shape.operations);
  std::optional<double> clock_hz;
  if (options_.profile)
    measure_once(work, launch);
  else if (rule() == Rule::kBurst || rule() == Rule::kBrief)
    clock_hz = measure_burst(work, launch, shape.stamps);
  else if (rule() == Rule::kSustained || rule() == Rule::kLoaded || rule() == Rule::kSoak)
    clock_hz = measure_load(work, launch);
  else
    clock_hz = measure_sampled(work, launch);
  if (clock_hz) {
    record_.conditions.sm_clock_hz = clock_hz;
    record_.conditions.sm_clock_source = shape.stamps ? ClockSource::kKernel : ClockSource::kProbe;
  }
}

void CudaBench::measure_once(const Work& work, const Launch& launch) {
  const cuda::Event start, stop;
  start.record(stream());
  launch(stream());
  stop.record(stream());
  session_.sampler.synchronize();
  const double launch_s = cuda::elapsed_s(start, stop);
  remark("one launch, under a profiler: no figure to rely on");
  finish_blocks(work, {launch_s}, 1);
}

std::optional<double> CudaBench::measure_sampled(const Work& work, const Launch& launch) {
  cuda::Sampler& sampler = session_.sampler;
  const double launch_s =
      sampler.warm_up_for(launch, rule() == Rule::kFull ? kWarmUpSeconds : kWarmUpCurveSeconds);
  const std::int64_t launches = sampler.launches_for(kSampleSeconds, launch_s);
  session_.telemetry.start(true);
  const Sampling sampling = collect(
      sampling_rule(),
      [&](std::size_t n) {
        return sampler.time_batches(launch, launches, n, cuda::Sampler::Probe::kBetween);
      },
      Telemetry::now_s);
  const auto clock_hz = sampler.sm_clock_hz();
  take_conditions();
  if (watch_pcie_link_) read_pcie_link(launch, launch_s);
  finish(work, sampling, launches);
  return clock_hz;
}

void CudaBench::note_clock(std::vector<double>& clocks_hz) const {
  if (const auto clock_hz = session_.sampler.sm_clock_hz()) clocks_hz.push_back(*clock_hz);
}

std::optional<double> CudaBench::measure_burst(const Work& work, const Launch& launch,
                                               bool stamps) {
  cuda::Sampler& sampler = session_.sampler;
  const double launch_s = sampler.warm_up_for(launch, kWarmUpCurveSeconds);
  const std::int64_t launches = train_launches(launch_s);
  const bool brief = rule() == Rule::kBrief;
  const int trains = brief ? kTrainsBrief : options_.quick ? kTrainsQuick : kTrains;
  const double rest_s = brief ? kRestBriefSeconds : kRestSeconds;
  std::vector<double> train_s, clocks_hz;
  session_.telemetry.start(true);
  for (int train = 0; train < trains; ++train) {
    rest(rest_s);
    train_s.push_back(sampler.time_batches(launch, launches, 1).front());
    if (stamps) note_clock(clocks_hz);
  }
  for (int train = 0; train < kClockTrains && !stamps; ++train) {
    rest(rest_s);
    sampler.time_batches(launch, launches, 1, cuda::Sampler::Probe::kInside);
    note_clock(clocks_hz);
  }
  take_conditions();
  // Mostly rest: their averages say nothing of the load.
  record_.conditions.power_w.reset();
  record_.conditions.utilization.reset();
  finish_blocks(work, std::move(train_s), launches);
  if (clocks_hz.empty()) return std::nullopt;
  return median(clocks_hz);
}

double CudaBench::loaded_s() const {
  const bool hot = Telemetry::now_s() - session_.load_end_s < kLongestPauseSeconds;
  return hot ? session_.load_end_s - session_.load_start_s : 0;
}

std::vector<cuda::Sampler::Interval> CudaBench::load(const Launch& launch, double launch_s,
                                                     double seconds) {
  cuda::Sampler& sampler = session_.sampler;
  const double start_s = Telemetry::now_s();
  if (start_s - session_.load_end_s > kLongestPauseSeconds) session_.load_start_s = start_s;
  auto intervals = sampler.load(
      launch,
      [&](double so_far_s) {
        return sampler.launches_for(
            so_far_s < kFirstSeconds ? kFirstIntervalSeconds : kIntervalSeconds, launch_s);
      },
      [&](double so_far_s) { return so_far_s < seconds; });
  session_.load_end_s = Telemetry::now_s();
  return intervals;
}

double CudaBench::time_loaded(const Launch& launch, double seconds) {
  cuda::Sampler& sampler = session_.sampler;
  sampler.describe_work(false, kSearchedOperations);
  const double launch_s = sampler.warm_up(launch);
  if (options_.profile) return launch_s;
  const auto intervals = load(launch, launch_s, seconds);
  std::vector<double> settled_s;
  for (std::size_t i = intervals.size() / 2; i < intervals.size(); ++i)
    settled_s.push_back(intervals[i].launch_s);
  return median(settled_s);
}

std::optional<double> CudaBench::measure_load(const Work& work, const Launch& launch) {
  cuda::Sampler& sampler = session_.sampler;
  const double launch_s = sampler.warm_up(launch);
  const bool first = loaded_s() < kSustainedSeconds;
  const double seconds = rule() == Rule::kLoaded ? kLoadedSeconds
                         : rule() == Rule::kSoak ? options_.soak_s
                         : first                 ? kSustainedSeconds
                                                 : kSustainedOwnSeconds;
  if (first && rule() != Rule::kLoaded) rest(kRestBeforeLoadSeconds);
  session_.telemetry.start(true);
  const double start_s = Telemetry::now_s();
  const auto intervals = load(launch, launch_s, seconds);
  take_conditions();

  const auto& readings = session_.telemetry.readings();
  Series series;
  for (const auto& interval : intervals) {
    series.time_s.push_back(interval.end_s);
    series.rate.push_back(value_of(work, interval.launch_s));
    series.sm_clock_hz.push_back(interval.sm_clock_hz.value_or(kUnknown));
    const auto reading = std::lower_bound(
        readings.begin(), readings.end(), start_s + interval.end_s,
        [](const cuda::TimedReading& r, double time_s) { return r.time_s < time_s; });
    const auto value = [&](auto field) {
      return reading == readings.end() ? kUnknown : (reading->reading.*field).value_or(kUnknown);
    };
    series.power_w.push_back(value(&cuda::TelemetryReading::power_w));
    series.temperature_c.push_back(value(&cuda::TelemetryReading::temperature_c));
  }
  record_.series = thinned(series);

  const double end_s = intervals.back().end_s;
  double settled_from_s =
      end_s - (rule() == Rule::kLoaded ? kLoadedSettledSeconds
                                       : std::max(kSettledSeconds, kSettledShare * end_s));
  if (rule() == Rule::kSoak) {
    chose("seconds", static_cast<std::int64_t>(std::llround(end_s)));
    if (const auto equilibrium_s =
            settling_time(record_.series.time_s, record_.series.temperature_c, kEquilibriumC)) {
      settled_from_s = std::min(std::max(*equilibrium_s, kFirstSeconds), settled_from_s);
      chose("equilibrium_s", static_cast<std::int64_t>(std::llround(*equilibrium_s)));
      chose("equilibrium_temperature_c",
            static_cast<std::int64_t>(std::llround(record_.series.temperature_c.back())));
    } else {
      remark(fmt::format("no thermal equilibrium within {:.0f} s", end_s));
    }
  }
  std::vector<double> settled_s, clocks_hz;
  for (const auto& interval : intervals) {
    if (interval.end_s < settled_from_s) continue;
    settled_s.push_back(interval.launch_s);
    if (interval.sm_clock_hz) clocks_hz.push_back(*interval.sm_clock_hz);
  }
  // A series of half a second tells nothing that its end does not.
  if (rule() == Rule::kLoaded) record_.series = {};
  record_.conditions.power_w = cuda::mean_power_w(readings, start_s + settled_from_s);
  finish_blocks(work, block_medians(settled_s, std::min(settled_s.size(), kSettledBlocks)),
                sampler.launches_for(kIntervalSeconds, launch_s));
  if (clocks_hz.empty()) return std::nullopt;
  return median(clocks_hz);
}

void CudaBench::measure_apart(const Work& work, const Launch& launch, const Launch& before) {
  if (options_.profile) return measure(work, launch);
  const NvtxRange range(record_.name());
  cuda::Sampler& sampler = session_.sampler;
  sampler.describe_work(false, kSearchedOperations);
  sampler.warm_up(before);
  sampler.warm_up(launch);
  std::vector<double> train_s, clocks_hz;
  session_.telemetry.start(true);
  for (int train = 0; train < kTrainsBrief; ++train) {
    rest(kRestBriefSeconds);
    train_s.push_back(time_train_apart(launch, before));
  }
  for (int train = 0; train < kClockTrains; ++train) {
    rest(kRestBriefSeconds);
    sampler.time_apart(launch, before, kApartFirst + kApartTimed, cuda::Sampler::Probe::kInside);
    note_clock(clocks_hz);
  }
  take_conditions();
  record_.conditions.power_w.reset();
  record_.conditions.utilization.reset();
  finish_blocks(work, std::move(train_s), kApartTimed);
  if (clocks_hz.empty()) return;
  record_.conditions.sm_clock_hz = median(clocks_hz);
  record_.conditions.sm_clock_source = ClockSource::kProbe;
}

double CudaBench::time_train_apart(const Launch& launch, const Launch& before) {
  const std::vector<double> seconds =
      session_.sampler.time_apart(launch, before, kApartFirst + kApartTimed);
  const auto first = std::min<std::size_t>(kApartFirst, seconds.size() - 1);
  return std::accumulate(seconds.begin() + static_cast<std::ptrdiff_t>(first), seconds.end(), 0.0) /
         static_cast<double>(seconds.size() - first);
}

double CudaBench::time_apart(const Launch& launch, const Launch& before) {
  cuda::Sampler& sampler = session_.sampler;
  sampler.describe_work(false, kSearchedOperations);
  sampler.warm_up(before);
  if (options_.profile) return sampler.warm_up(launch);
  sampler.warm_up(launch);
  rest(kRestBriefSeconds);
  return time_train_apart(launch, before);
}

void CudaBench::take_conditions() {
  record_.conditions = session_.telemetry.conditions();
  record_.flags.throttled = !record_.conditions.throttle_reasons.empty();
}

void CudaBench::read_pcie_link(const Launch& launch, double launch_s) {
  if (session_.telemetry.nvml() == nullptr) return;
  const std::int64_t launches = session_.sampler.launches_for(kLinkLoadSeconds, launch_s);
  for (std::int64_t i = 0; i < launches; ++i) launch(stream());
  const PcieLink link = session_.telemetry.nvml()->pcie_link(session_.telemetry.uuid());
  session_.sampler.synchronize();
  record_.conditions.pcie_generation = link.generation;
  record_.conditions.pcie_width = link.width;
}

void CudaBench::measure_on_host(const Work& work, const std::function<void()>& call,
                                std::int64_t calls, const std::function<void()>& between) {
  const NvtxRange range(record_.name());
  const auto settle = [&] {
    if (between) between();
  };
  if (options_.profile) {
    remark("one call, under a profiler: no figure to rely on");
    finish_blocks(work, {cuda::time_on_host(call, 1)}, 1);
    settle();
    return;
  }
  double call_s = cuda::time_on_host(call, 1);
  settle();
  call_s = std::max(cuda::time_on_host(call, 1), 1e-8);
  settle();
  if (calls == 0)
    calls = std::clamp(static_cast<std::int64_t>(kHostSampleSeconds / call_s), std::int64_t{1},
                       std::int64_t{1000});
  // Without the background thread: it would share the driver's locks with what is timed.
  session_.telemetry.start(false);
  const Sampling sampling = collect(
      sampling_rule(),
      [&](std::size_t) {
        const double seconds = cuda::time_on_host(call, calls);
        settle();
        return std::vector{seconds};
      },
      Telemetry::now_s);
  take_conditions();
  finish(work, sampling, calls);
}

void CudaBench::measure_difference(const Work& work, const Launch& launch) {
  const NvtxRange range(record_.name());
  if (options_.profile) return measure_once(work, launch);
  cuda::Sampler& sampler = session_.sampler;
  sampler.describe_work(false, kSearchedOperations);
  sampler.warm_up_for(launch, kWarmUpSeconds);
  session_.telemetry.start(true);
  const Sampling sampling = collect(
      sampling_rule(),
      [&](std::size_t n) {
        const double nothing_s = median(sampler.time_batches([](cudaStream_t) {}, 1, n));
        std::vector<double> seconds = sampler.time_batches(launch, 1, n);
        for (double& s : seconds) s -= nothing_s;
        return seconds;
      },
      Telemetry::now_s);
  take_conditions();
  if (!(sampling.summary.median > 0))
    throw std::runtime_error("the events do not resolve one launch");
  finish(work, sampling, 1);
}

std::size_t CudaBench::search(std::size_t count,
                              const std::function<Launch(std::size_t)>& launch_of, double seconds,
                              const SearchCost& cost) {
  const std::vector<std::size_t> ranking = rank(count, launch_of, seconds, cost);
  if (!options_.profile) chose("candidates", static_cast<std::int64_t>(ranking.size()));
  return ranking.front();
}

std::vector<std::size_t> CudaBench::rank(std::size_t count,
                                         const std::function<Launch(std::size_t)>& launch_of,
                                         double seconds, const SearchCost& cost) {
  cuda::Sampler& sampler = session_.sampler;
  if (options_.profile) {
    for (std::size_t i = 0; i < count; ++i)
      if (launch_of(i)) return {i};
    throw Skipped("no candidate can run on this device");
  }
  sampler.describe_work(false, kSearchedOperations);
  const double deadline_s = Telemetry::now_s() + seconds;
  bool any = false;
  double probed_s = -kClockStaleSeconds;
  const auto warm_up_once = [&](const Launch& launch) {
    // Or the first candidates would be timed while clocks still come up, and dropped.
    if (!std::exchange(any, true))
      sampler.warm_up_for(launch, rule() == Rule::kCurve ? kWarmUpCurveSeconds : kWarmUpSeconds);
  };
  const auto time_s = [&](std::size_t i, std::size_t samples) {
    const Launch launch = launch_of(i);
    if (!launch) return std::numeric_limits<double>::infinity();
    warm_up_once(launch);
    sampler.warm_up(launch);  // loads its code
    const double launch_s = sampler.warm_up(launch);
    // Cycles instead of seconds: the clock falls while a search goes on, and the candidates that
    // come first would win.
    const bool probe = cost.in_cycles && Telemetry::now_s() - probed_s > kClockStaleSeconds;
    double time = median(
        sampler.time_batches(launch, sampler.launches_for(kSampleSeconds, launch_s), samples,
                             probe ? cuda::Sampler::Probe::kBetween : cuda::Sampler::Probe::kNone));
    if (probe) probed_s = Telemetry::now_s();
    if (cost.in_cycles) time *= sampler.sm_clock_hz().value_or(1.0);
    return cost.work_of ? time / cost.work_of(i) : time;
  };
  return peakline::search(count, time_s, [&] { return any && Telemetry::now_s() > deadline_s; })
      .ranking;
}

std::vector<Point> load_points() {
  return {{.params = {{"load", std::string("burst")}},
           .phase = Phase::kBurst,
           .rule = Rule::kBurst,
           .quick = true,
           .seconds = kTrains * (kRestSeconds + kTrainSeconds)},
          {.params = {{"load", std::string("sustained")}},
           .phase = Phase::kSustained,
           .rule = Rule::kSustained,
           .quick = false,
           .seconds = kSustainedOwnSeconds + 0.2}};
}

Point brief_burst_point(bool quick) {
  return {.params = {},
          .phase = Phase::kBurst,
          .rule = Rule::kBrief,
          .quick = quick,
          .seconds = kTrainsBrief * (kRestBriefSeconds + kTrainSeconds) + 0.2};
}

}  // namespace peakline::bench

#include "bench/cuda_bench.hpp"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
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

// A train is long enough to fill the chip many times over and too short for the power control to
// react; the rest before it lets the power average and the temperature fall.
constexpr double kTrainSeconds = 0.010;
constexpr std::int64_t kTrainLaunches = 5;
constexpr double kRestSeconds = 0.5;
constexpr int kTrains = 10;
// --quick: the fewest trains that have a 95 % interval, and a rest that still holds the mean load
// at a fifteenth.
constexpr double kRestQuickSeconds = 0.15;
constexpr int kTrainsQuick = 6;
// For points of which there are many: the mean load stays at a fifth.
constexpr double kRestBriefSeconds = 0.05;
constexpr int kTrainsBrief = 6;

constexpr double kSustainedSeconds = 5.0;
constexpr double kIntervalSeconds = 0.05;
// The rate is taken from the end of the load, when clocks have settled.
constexpr double kSettledShare = 2.0 / 3.0;
constexpr std::size_t kSettledBlocks = 20;

// Left free when memory is short: context, cuBLAS workspaces, the driver's own needs.
constexpr double kMemoryReserve = 512.0 * 1024 * 1024;

// How long data moves while the link's state is read.
constexpr double kLinkLoadSeconds = 0.02;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// From the energy counter, over the readings after `from_s`.
std::optional<double> settled_power_w(const std::vector<cuda::TimedReading>& readings,
                                      double from_s) {
  const auto first = std::find_if(readings.begin(), readings.end(), [&](const auto& timed) {
    return timed.time_s >= from_s && timed.reading.energy_j;
  });
  if (first == readings.end() || !readings.back().reading.energy_j) return std::nullopt;
  const double seconds = readings.back().time_s - first->time_s;
  if (seconds < 1) return std::nullopt;
  return (*readings.back().reading.energy_j - *first->reading.energy_j) / seconds;
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

void CudaBench::launch_once(const Launch& launch) { session_.sampler.warm_up(launch); }

double CudaBench::time_roughly(const Launch& launch) {
  if (options_.profile) return session_.sampler.warm_up(launch);
  return session_.sampler.warm_up_for(launch, kWarmUpSeconds);
}

CudaBench::TimeAtClock CudaBench::time_with_clock(const Launch& launch) {
  if (options_.profile) return {session_.sampler.warm_up(launch), 1.0};
  cuda::Sampler& sampler = session_.sampler;
  const double launch_s = sampler.warm_up_for(launch, kWarmUpCurveSeconds);
  return {median(sampler.time_batches(launch, sampler.launches_for(kSampleSeconds, launch_s), 5)),
          sampler.sm_clock_hz().value_or(1.0)};
}

std::int64_t CudaBench::train_launches(double launch_s) const {
  return std::max(kTrainLaunches, session_.sampler.launches_for(kTrainSeconds, launch_s));
}

double CudaBench::time_trains(const Launch& launch, int trains, double rest_s) {
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

void CudaBench::measure(const Work& work, const Launch& launch, const LaunchShape& shape) {
  const NvtxRange range(record_.name());
  session_.sampler.describe_work(shape.stamps, shape.operations);
  std::optional<double> clock_hz;
  if (options_.profile)
    measure_once(work, launch);
  else if (rule() == Rule::kBurst || rule() == Rule::kBrief)
    clock_hz = measure_burst(work, launch);
  else if (rule() == Rule::kSustained)
    clock_hz = measure_sustained(work, launch);
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
      sampling_rule(), [&](std::size_t n) { return sampler.time_batches(launch, launches, n); },
      Telemetry::now_s);
  const auto clock_hz = sampler.sm_clock_hz();
  take_conditions();
  if (watch_pcie_link_) read_pcie_link(launch, launch_s);
  finish(work, sampling, launches);
  return clock_hz;
}

std::optional<double> CudaBench::measure_burst(const Work& work, const Launch& launch) {
  cuda::Sampler& sampler = session_.sampler;
  const double launch_s = sampler.warm_up_for(launch, kWarmUpCurveSeconds);
  const std::int64_t launches = train_launches(launch_s);
  const bool brief = rule() == Rule::kBrief;
  const int trains = brief ? kTrainsBrief : options_.quick ? kTrainsQuick : kTrains;
  const double rest_s = brief            ? kRestBriefSeconds
                        : options_.quick ? kRestQuickSeconds
                                         : kRestSeconds;
  std::vector<double> train_s, clocks_hz;
  session_.telemetry.start(true);
  for (int train = 0; train < trains; ++train) {
    rest(rest_s);
    train_s.push_back(sampler.time_batches(launch, launches, 1).front());
    if (const auto clock_hz = sampler.sm_clock_hz()) clocks_hz.push_back(*clock_hz);
  }
  take_conditions();
  // Mostly rest: their averages say nothing of the load.
  record_.conditions.power_w.reset();
  record_.conditions.utilization.reset();
  finish_blocks(work, std::move(train_s), launches);
  if (clocks_hz.empty()) return std::nullopt;
  return median(clocks_hz);
}

std::optional<double> CudaBench::measure_sustained(const Work& work, const Launch& launch) {
  cuda::Sampler& sampler = session_.sampler;
  const double launch_s = sampler.warm_up_for(launch, kWarmUpCurveSeconds);
  const std::int64_t launches = sampler.launches_for(kIntervalSeconds, launch_s);
  session_.telemetry.start(true);
  const double start_s = Telemetry::now_s();
  const auto intervals =
      sampler.load(launch, launches, [](double seconds) { return seconds < kSustainedSeconds; });
  take_conditions();

  const auto& readings = session_.telemetry.readings();
  std::vector<double> settled_s, clocks_hz;
  const double settled_from_s = intervals.back().end_s * kSettledShare;
  for (const auto& interval : intervals) {
    Series& series = record_.series;
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
    if (interval.end_s < settled_from_s) continue;
    settled_s.push_back(interval.launch_s);
    if (interval.sm_clock_hz) clocks_hz.push_back(*interval.sm_clock_hz);
  }
  record_.conditions.power_w = settled_power_w(readings, start_s + settled_from_s);
  finish_blocks(work, block_medians(settled_s, std::min(settled_s.size(), kSettledBlocks)),
                launches);
  if (clocks_hz.empty()) return std::nullopt;
  return median(clocks_hz);
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
  sampler.describe_work(false, 1);
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
  cuda::Sampler& sampler = session_.sampler;
  if (options_.profile) {
    for (std::size_t i = 0; i < count; ++i)
      if (launch_of(i)) return i;
    throw Skipped("no candidate can run on this device");
  }
  sampler.describe_work(false, 1);
  const double deadline_s = Telemetry::now_s() + seconds;
  bool any = false;
  const auto warm_up_once = [&](const Launch& launch) {
    // Or the first candidates would be timed while clocks still come up, and dropped.
    if (!std::exchange(any, true)) sampler.warm_up_for(launch, kWarmUpSeconds);
  };
  const auto time_s = [&](std::size_t i, std::size_t samples) {
    const Launch launch = launch_of(i);
    if (!launch) return std::numeric_limits<double>::infinity();
    warm_up_once(launch);
    sampler.warm_up(launch);
    const double launch_s = sampler.time_batches(launch, 1, 1).front();
    double time = median(
        sampler.time_batches(launch, sampler.launches_for(kSampleSeconds, launch_s), samples));
    // Cycles instead of seconds: the clock falls while a search goes on, and the candidates that
    // come first would win.
    if (cost.in_cycles) time *= sampler.sm_clock_hz().value_or(1.0);
    return cost.work_of ? time / cost.work_of(i) : time;
  };
  const SearchResult result =
      peakline::search(count, time_s, [&] { return any && Telemetry::now_s() > deadline_s; });
  chose("candidates", static_cast<std::int64_t>(result.tried));
  return result.winner;
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
           .seconds = kSustainedSeconds + 0.2}};
}

Point brief_burst_point(bool quick) {
  return {.params = {},
          .phase = Phase::kBurst,
          .rule = Rule::kBrief,
          .quick = quick,
          .seconds = kTrainsBrief * (kRestBriefSeconds + kTrainSeconds) + 0.2};
}

}  // namespace peakline::bench

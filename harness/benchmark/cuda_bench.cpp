#include "harness/benchmark/cuda_bench.hpp"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "harness/conclude/limits.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/nvml.hpp"
#include "harness/cuda/properties.hpp"
#include "harness/cuda/telemetry.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/statistics/power_control.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/statistics/swings.hpp"
#include "harness/values/clock.hpp"

namespace peakline::bench {
namespace {

using cuda::Sampler;
using cuda::Telemetry;

// Host-timed samples must be long compared with interrupts and clock readings.
constexpr double kHostSampleSeconds = 2e-4;
constexpr std::int64_t kMostHostCalls = 1000;
constexpr double kShortestCallSeconds = 1e-8;  // below the clock's resolution
// Device time between checks of the stopping rule.
constexpr double kTakeSeconds = 0.04;
// Clocks take tens of ms to ramp up after a pause.
constexpr double kWarmUpSeconds = 0.03;
constexpr double kWarmUpCurveSeconds = 0.003;

// For context, cuBLAS workspaces and driver.
constexpr double kMemoryReserve = 512.0 * 1024 * 1024;
// Share of free memory for a measurement of all of it.
constexpr double kWholeMemory = 0.95;
// Leaves shared memory to the operating system and other programs.
constexpr double kWholeSharedMemory = 0.5;

constexpr double kShortestSeriesSeconds = 1;

// For a kernel that times itself: steps of a first launch, and a lower bound of their time.
constexpr std::uint64_t kFewSteps = 1024;
constexpr double kShortestStepSeconds = 1e-9;

// Data moves for this long while the link's state is read.
constexpr double kLinkLoadSeconds = 0.02;

class NvtxRange {
 public:
  explicit NvtxRange(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

DeviceFacts facts_of_device(const cuda::Nvml* nvml) {
  const DeviceFacts runtime = cuda::device_facts();
  if (nvml == nullptr) return cuda::combined(runtime, {});
  try {
    return cuda::combined(runtime, nvml->devices());
  } catch (const cuda::NvmlUnavailable&) {
    return cuda::combined(runtime, {});  // without NVML
  }
}

std::unique_ptr<Telemetry> telemetry_of(const cuda::Nvml* nvml, const std::string& uuid) {
  if (nvml == nullptr) return std::make_unique<Telemetry>(Telemetry::Read());
  return std::make_unique<Telemetry>([nvml, uuid] { return nvml->telemetry(uuid); },
                                     [nvml, uuid] { return nvml->energy_j(uuid); });
}

}  // namespace

CudaSession::CudaSession(const cuda::Nvml* nvml_or_null, const RunOptions& options)
    : nvml(nvml_or_null),
      facts(facts_of_device(nvml)),
      sampler(read_sm_clocks, options.profile ? Sampler::Mode::kProfile : Sampler::Mode::kNormal,
              facts),
      telemetry(telemetry_of(nvml, facts.uuid)) {}
CudaSession::~CudaSession() = default;

CudaBench::CudaBench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
                     WorkerCache& cache, CudaSession& session, RoundMember* round)
    : Bench(benchmark, point, options, cache, round), session_(session) {}

std::size_t CudaBench::fitting_memory(std::size_t bytes, std::size_t granule) const {
  const double free = std::max(0.0, cuda::free_memory_bytes() - kMemoryReserve);
  const auto fitted =
      static_cast<std::size_t>(std::min(static_cast<double>(bytes), free)) / granule * granule;
  if (fitted == 0)
    throw Skipped(fmt::format("needs {} MiB of device memory, but only {} MiB are free",
                              bytes >> 20, static_cast<std::int64_t>(free) >> 20));
  return fitted;
}

std::size_t CudaBench::whole_memory(std::size_t granule) const {
  const double share = device().integrated.value_or(false) ? kWholeSharedMemory : kWholeMemory;
  return fitting_memory(static_cast<std::size_t>(share * cuda::free_memory_bytes()), granule);
}

std::size_t CudaBench::fit_memory(std::size_t bytes, std::size_t granule) {
  const std::size_t fitted = fitting_memory(bytes, granule);
  if (fitted + granule <= bytes)
    remark(fmt::format("footprint reduced from {} MiB to the {} MiB that are free", bytes >> 20,
                       fitted >> 20));
  return fitted;
}

double CudaBench::launch_once(const Launch& launch) { return sampler().warm_up(launch); }

double CudaBench::time_roughly(const Launch& launch) {
  return sampler().warm_up_for(launch, kWarmUpSeconds);
}

void CudaBench::measure(const Work& work, const Launch& launch) {
  const NvtxRange range(record_.name());
  switch (timing()) {
    case Timing::kCurve:
    case Timing::kFull:
      return measure_sampled(work, launch);
    case Timing::kBurst:
    case Timing::kBrief:
    case Timing::kLongBurst:
      return measure_burst(work, launch);
    case Timing::kSustained:
    case Timing::kSoak:
      return measure_load(work, launch);
  }
}

void CudaBench::measure_sampled(const Work& work, const Launch& launch) {
  // Links do not follow the clocks.
  const bool short_warm_up = timing() != Timing::kFull || benchmark_.loads == Loads::kLink;
  const double launch_s =
      sampler().warm_up_for(launch, short_warm_up ? kWarmUpCurveSeconds : kWarmUpSeconds);
  const std::int64_t launches = sampler().launches_for(launch, cuda::kSampleSeconds, launch_s);
  std::vector<double> clocks_hz;
  const double batch_s = launch_s * static_cast<double>(launches);
  const auto fits = static_cast<std::size_t>(std::max(1.0, kTakeSeconds / batch_s));
  session_.telemetry->start(true);
  begin_round();
  // Waiting for the others was a rest.
  if (round_ != nullptr) sampler().warm_up_for(launch, kWarmUpCurveSeconds);
  const Sampling sampling = collect(
      sampling_rule(),
      [&](std::size_t n) {
        Sampler::Timing timing = sampler().time_batches(launch, launches, std::min(n, fits));
        if (timing.sm_clock_hz) clocks_hz.push_back(*timing.sm_clock_hz);
        return std::move(timing.launch_s);
      },
      now_s);
  if (round_ != nullptr) round_->end([&] { sampler().time_batches(launch, launches, 1); });
  take_conditions();
  remark_if_unheld();
  if (launch.over_pcie) read_pcie_link(launch, launch_s);
  finish(work, sampling, launches);
  take_clock(estimated_clock(clocks_hz, benchmark_.estimate));
}

void CudaBench::measure_burst(const Work& work, const Launch& launch) {
  const std::int64_t launches = launches_of_part(sampler(), launch);
  Trains trains = trains_of_sitting(timing());
  trains.rest_s = std::max(trains.rest_s, session_.rest_s);
  session_.telemetry->start(true);
  BurstTiming timing = time_trains(sampler(), launch, launches, trains);
  session_.rest_s = timing.rest_s;
  take_conditions(true);
  remark_if_unheld();
  finish_blocks(work, std::move(timing.launch_s),
                launches * static_cast<std::int64_t>(timing.parts));
  take_clock(estimated_clock(timing.sm_clocks_hz, benchmark_.estimate));
  if (timing.answer_s)
    remark(fmt::format("the power control answers {:.0f} ms into a train: what comes before counts",
                       *timing.answer_s * 1e3));
  if (!timing.rested) {
    record_.flags.unstable = true;
    remark(fmt::format("the device had not recovered after {:.1f} s of rest", timing.rest_s));
  }
}

Trains CudaBench::trains_of_sitting(Timing timing) const {
  Trains trains = trains_of(timing, options_.quick);
  trains.count /= static_cast<int>(sittings_of(benchmark_, point_));
  return trains;
}

void CudaBench::measure_interleaved(const Work& work, const Launch& launch, const Launch& before) {
  const NvtxRange range(record_.name());
  sampler().warm_up(before);
  sampler().warm_up(launch);
  session_.telemetry->start(true);
  TrainTiming timing =
      time_interleaved_trains(sampler(), launch, before, trains_of_sitting(Timing::kBrief));
  take_conditions(true);
  finish_blocks(work, std::move(timing.launch_s),
                static_cast<std::int64_t>(sampler().repeats(kInterleavedLaunches)));
  take_clock(estimated_clock(timing.sm_clocks_hz, benchmark_.estimate));
}

void CudaBench::measure_load(const Work& work, const Launch& launch) {
  const bool soak = timing() == Timing::kSoak;
  const bool alone = round_ == nullptr || !round_->has_others();
  // Shorter loads have no two oscillations to compare; a soak has a fixed length.
  const bool judged = timing() == Timing::kSustained && point_.phase != Phase::kSoak &&
                      point_.load_s >= kShortLoadSeconds && !options_.profile;
  const double tolerance = tolerated_shift(benchmark_, point_);
  const double launch_s = sampler().warm_up(launch);
  const LoadPart planned =
      soak ? LoadPart{.counted_s = point_.load_s} : loads().part_for(point_.load_s, !alone);
  session_.telemetry->start(true);
  begin_round();
  load_begins_();
  const double start_s = now_s();
  const auto [intervals, counted_from_s] = loads().run(
      launch, launch_s, planned,
      judged && alone && !options_.quick && !point_.whole_load ? std::optional(tolerance)
                                                               : std::nullopt);
  if (round_ != nullptr)
    round_->end([&] {
      sampler().time_batches(launch, launches_of_interval(sampler(), launch, launch_s), 1);
    });
  take_conditions();

  const auto& readings = session_.telemetry->readings();
  const double end_s = intervals.back().end_s;
  record_.series = thinned(series_of(intervals, start_s, readings,
                                     [&](double time_s) { return value_of(work, time_s); }));
  const double from_s = soak ? soak_from_s(end_s) : counted_from_s;
  // A series of half a second adds nothing to its last value, nor does one of a load that is only
  // asked for its mean power.
  if (end_s < kShortestSeriesSeconds || point_.whole_load) record_.series = {};
  SettledLoad end = settled(intervals, from_s);
  record_.conditions.power_w = cuda::mean_power_w(readings, start_s + from_s);
  record_.conditions.power_cap_share = cuda::power_cap_share(readings, start_s + from_s);
  const std::int64_t launches = launches_of_interval(sampler(), launch, launch_s);
  const double shift = shift_of_swings(end.launch_s);
  const bool has_settled = !judged || load_has_settled(end.launch_s, tolerance);
  finish_blocks(work, std::move(end.launch_s), launches * static_cast<std::int64_t>(end.intervals));
  take_clock(end.sm_clock_hz);
  record_.flags.unstable |= !has_settled;
  if (!has_settled || counted_from_s > planned.from_s)
    remark(fmt::format("{} after {:.0f} s of load: {:.1f} % from one swing to another",
                       has_settled ? "settled" : "not settled", end_s, 100 * shift));
}

double CudaBench::soak_from_s(double end_s) {
  const double from_s = soak_settled_from_s(end_s);
  const auto note_rounded = [&](const char* name, double value) {
    note(name, static_cast<std::int64_t>(std::llround(value)));
  };
  note_rounded("seconds", end_s);
  const auto reached_s = equilibrium_s(record_.series);
  if (!reached_s) {
    remark(fmt::format("no thermal equilibrium within {:.0f} s", end_s));
    return from_s;
  }
  note_rounded("equilibrium_s", *reached_s);
  note_rounded("equilibrium_temperature_c", record_.series.temperature_c.back());
  return std::min(std::max(*reached_s, kLoadStartSeconds), from_s);
}

void CudaBench::take_conditions(bool mostly_rest) {
  Conditions& conditions = record_.conditions;
  conditions = session_.telemetry->conditions();
  if (mostly_rest) {
    conditions.power_w.reset();
    conditions.utilization.reset();
    // Trains end before the control of average power responds, and are not slowed by earlier capped
    // load. Limits that act at once show in the clock; NVML has no counter for them.
    conditions.power_cap_share.reset();
    std::erase(conditions.throttle_reasons, cuda::kPowerCapReason);
  }
  record_.flags.throttled = !conditions.throttle_reasons.empty();
  const std::string failure = session_.telemetry->failure();
  if (!failure.empty()) remark("telemetry stopped: " + failure);
}

void CudaBench::take_clock(std::optional<double> clock_hz, ClockSource source) {
  const auto limit = benchmark_.limit.of ? benchmark_.limit.of(&record_, device()) : std::nullopt;
  if (clock_hz && limit && exceeds_at_clock(*record_.value, *limit, *clock_hz)) clock_hz.reset();
  record_.conditions.sm_clock_hz = clock_hz;
  record_.conditions.sm_clock_source = clock_hz ? std::optional(source) : std::nullopt;
}

void CudaBench::remark_if_unheld() {
  if (sampler().cannot_hold())
    remark("the stream could not be held: the time may include gaps between launches");
}

void CudaBench::read_pcie_link(const Launch& launch, double launch_s) {
  if (session_.nvml == nullptr || device().integrated.value_or(false) || device().c2c) return;
  const std::int64_t launches = sampler().launches_for(launch, kLinkLoadSeconds, launch_s);
  for (std::int64_t i = 0; i < launches; ++i) launch(stream());
  PcieLink link;
  try {
    link = session_.nvml->pcie_link(session_.facts.uuid);
  } catch (const cuda::NvmlUnavailable& unavailable) {
    remark(fmt::format("the PCIe link could not be read: {}", unavailable.what()));
  }
  sampler().synchronize();
  record_.conditions.pcie_generation = link.generation;
  record_.conditions.pcie_width = link.width;
}

void CudaBench::measure_calls(const Work& work, const std::function<void()>& call,
                              const std::function<void()>& before) {
  const NvtxRange range(record_.name());
  call();  // loads code
  session_.telemetry->start(true);
  begin_round();
  load_begins_();
  std::vector<double> calls_s = seconds_of_calls(call, before);
  if (round_ != nullptr) round_->end(call);
  take_conditions();
  finish_blocks(work, std::move(calls_s), 1);
}

void CudaBench::measure_blocks(const Work& work,
                               const std::function<std::vector<double>()>& seconds) {
  const NvtxRange range(record_.name());
  session_.telemetry->start(true);
  std::vector<double> blocks = seconds();
  take_conditions();
  finish_blocks(work, std::move(blocks), 1);
}

void CudaBench::measure_on_host(const Work& work, const std::function<void()>& call,
                                std::int64_t calls, const std::function<void()>& between) {
  const NvtxRange range(record_.name());
  const auto time = [&](std::int64_t count) {
    const double seconds = cuda::time_on_host(call, count);
    if (between) between();
    return seconds;
  };
  double call_s = time(1);  // loads code
  if (calls == 0) {
    if (sampler().repeats(2) == 2) call_s = time(1);
    calls = std::clamp(
        static_cast<std::int64_t>(kHostSampleSeconds / std::max(call_s, kShortestCallSeconds)),
        std::int64_t{1}, kMostHostCalls);
  }
  calls = sampler().repeats(calls);
  // No background thread: it would contend with the calls for the driver's locks.
  session_.telemetry->start(false);
  const Sampling sampling = collect(
      sampling_rule(), [&](std::size_t) { return std::vector{time(calls)}; }, now_s);
  take_conditions();
  finish(work, sampling, calls);
}

void CudaBench::measure_stamped(const std::function<Launch(std::uint64_t steps)>& launch_of,
                                const cuda::DeviceBuffer<ClockReading>& stamps) {
  const NvtxRange range(record_.name());
  const std::size_t sms = stamps.size() / 2;
  std::vector<ClockReading> readings;
  const auto step_s = [&](const Launch& launch, std::uint64_t steps) {
    launch_once(launch);
    readings = stamps.to_host();
    double nanoseconds = 0;
    for (std::size_t i = 0; i < sms; ++i)
      nanoseconds += static_cast<double>(readings[sms + i].nanoseconds - readings[i].nanoseconds);
    return nanoseconds * 1e-9 / static_cast<double>(sms * steps);
  };
  sampler().warm_up_for(launch_of(kFewSteps), kWarmUpCurveSeconds);
  const double roughly_s = std::max(step_s(launch_of(kFewSteps), kFewSteps), kShortestStepSeconds);
  const std::uint64_t steps = std::bit_ceil(std::max(
      kFewSteps, sampler().repeats(static_cast<std::uint64_t>(cuda::kSampleSeconds / roughly_s))));
  const Launch launch = launch_of(steps);
  std::vector<double> clocks_hz;
  session_.telemetry->start(true);
  const Sampling sampling = collect(
      sampling_rule(),
      [&](std::size_t) {
        std::vector sample{step_s(launch, steps)};
        const std::span all(readings);
        if (const auto clock_hz =
                possible_clock(clock_between(all.first(sms), all.last(sms)),
                               session_.facts.sm_clock_max_hz, sm_clock_step(session_.facts)))
          clocks_hz.push_back(*clock_hz);
        return sample;
      },
      now_s);
  take_conditions();
  note("steps", static_cast<std::int64_t>(steps));
  finish({}, sampling, 1);
  take_clock(estimated_clock(clocks_hz, benchmark_.estimate), ClockSource::kKernel);
}

void CudaBench::measure_difference(const Work& work, const Launch& launch) {
  const NvtxRange range(record_.name());
  sampler().warm_up_for(launch, kWarmUpSeconds);
  session_.telemetry->start(true);
  const Sampling sampling = collect(
      sampling_rule(),
      [&](std::size_t n) {
        const double nothing_s = median(sampler().time_batches([](cudaStream_t) {}, 1, n).launch_s);
        std::vector<double> seconds = sampler().time_batches(launch, 1, n).launch_s;
        for (double& s : seconds) s -= nothing_s;
        return seconds;
      },
      now_s);
  take_conditions();
  remark_if_unheld();
  if (!(sampling.summary.median > 0))
    throw std::runtime_error("events cannot resolve a single launch");
  finish(work, sampling, 1);
}

std::size_t CudaBench::search(std::size_t count,
                              const std::function<Launch(std::size_t)>& launch_of, double seconds,
                              const SearchCost& cost) {
  const std::vector<std::size_t> ranking = rank(count, launch_of, seconds, cost);
  note("candidates", static_cast<std::int64_t>(ranking.size()));
  return ranking.front();
}

std::vector<std::size_t> CudaBench::rank(std::size_t count,
                                         const std::function<Launch(std::size_t)>& launch_of,
                                         double seconds, const SearchCost& cost) {
  const double warm_up_s = timing() == Timing::kCurve ? kWarmUpCurveSeconds : kWarmUpSeconds;
  return rank_candidates(sampler(), count, launch_of, {.warm_up_s = warm_up_s, .seconds = seconds},
                         cost);
}

}  // namespace peakline::bench

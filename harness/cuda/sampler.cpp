#include "harness/cuda/sampler.hpp"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "harness/core/statistics.hpp"

namespace peakline::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The driver's launch queue takes about a thousand entries; a full queue would block the host
// forever, since the stream is held until the host has enqueued everything.
constexpr std::int64_t kMaxHeldOperations = 400;
constexpr std::size_t kMaxHeldSamples = 64;
constexpr std::size_t kMaxInterleavedSamples = 150;  // not held: a full queue only blocks
// Intervals of an unbroken load enqueued ahead.
constexpr std::size_t kIntervalsAhead = 3;

// Work that runs while the probe spins; no more than fits behind the hold together with the
// batches.
constexpr double kBesideSeconds = 1e-4;
constexpr std::int64_t kMaxBesideOperations = 40;

// Shorter than any launch: a lower bound for times that the clock did not resolve.
constexpr double kShortestLaunchSeconds = 1e-7;

// Probes spread evenly over the samples; at most one per stamp slot.
constexpr std::size_t kProbes = 3;
static_assert(kProbes <= kIntervalsAhead + 1);
bool is_probed(std::size_t index, std::size_t count) {
  const std::size_t probes = std::min(kProbes, count);
  for (std::size_t probe = 0; probe < probes; ++probe)
    if (index == count * (2 * probe + 1) / (2 * probes)) return true;
  return false;
}

int highest_priority() {
  int lowest = 0, highest = 0;
  PEAKLINE_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  return highest;
}

class Released {
 public:
  explicit Released(StreamHold& hold) : hold_(hold) {}
  ~Released() { hold_.release(); }

 private:
  StreamHold& hold_;
};

}  // namespace

StreamHold::StreamHold() : flag_(1) {
  *flag_.data() = 0;
  cudaDriverEntryPointQueryResult found{};
  // The form introduced in 12.0 works without checking a device attribute first.
  constexpr unsigned kSince = 12000;
  if (cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &wait_value_, kSince,
                                       cudaEnableDefault, &found) != cudaSuccess ||
      found != cudaDriverEntryPointSuccess)
    wait_value_ = nullptr;
}

void StreamHold::hold(cudaStream_t stream) {
  if (!available()) return;
  ++ticket_;
  const auto wait = reinterpret_cast<decltype(&cuStreamWaitValue32)>(wait_value_);
  const CUresult code =
      wait(stream, reinterpret_cast<CUdeviceptr>(flag_.data()), ticket_, CU_STREAM_WAIT_VALUE_GEQ);
  if (code != CUDA_SUCCESS) disable();
}

void StreamHold::release() {
  // The device polls this word over the link, so the compiler must not defer or drop the store.
  __atomic_store_n(flag_.data(), ticket_, __ATOMIC_RELEASE);
}

Sampler::Sampler(ClockProbe clock_probe, Mode mode)
    : mode_(mode),
      probe_stream_(highest_priority()),
      clock_probe_(mode == Mode::kNormal ? std::move(clock_probe) : ClockProbe()),
      device_stamp_(1),
      host_stamps_(kIntervalsAhead + 1) {
  if (mode == Mode::kProfile) hold_.disable();
  PEAKLINE_CUDA(cudaMemset(device_stamp_.data(), 0, sizeof(ClockStamp)));
  std::fill_n(host_stamps_.data(), host_stamps_.size(), ClockStamp{});
  for (std::size_t i = 0; i < 2 * std::max(kMaxHeldSamples, kMaxInterleavedSamples); ++i)
    events_.emplace_back();
  if (clock_probe_)
    warm_up([this](cudaStream_t stream) { clock_probe_(stream, device_stamp_.data()); });
}

void Sampler::rest(double seconds) const {
  if (mode_ == Mode::kNormal) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void Sampler::take_stamp(const Launch& launch, std::size_t slot) {
  cudaStream_t from = stream();
  if (!launch.stamps) {
    if (!clock_probe_) {
      host_stamps_.data()[slot] = {};
      return;
    }
    from = probe_stream_.get();
    probe_gate_.record(stream());
    PEAKLINE_CUDA(cudaStreamWaitEvent(from, probe_gate_.get()));
    clock_probe_(from, device_stamp_.data());
  }
  PEAKLINE_CUDA(cudaMemcpyAsync(host_stamps_.data() + slot, device_stamp_.data(),
                                sizeof(ClockStamp), cudaMemcpyDeviceToHost, from));
}

std::optional<double> Sampler::clock_of(std::size_t slot) const {
  const ClockStamp& stamp = host_stamps_.data()[slot];
  if (stamp.cycles == 0 || stamp.nanoseconds == 0) return std::nullopt;
  return static_cast<double>(stamp.cycles) / static_cast<double>(stamp.nanoseconds) * 1e9;
}

std::optional<double> Sampler::median_clock(std::size_t count) const {
  std::vector<double> clocks_hz;
  for (std::size_t slot = 0; slot < count; ++slot)
    if (const auto clock_hz = clock_of(slot)) clocks_hz.push_back(*clock_hz);
  if (clocks_hz.empty()) return std::nullopt;
  return median(clocks_hz);
}

double Sampler::warm_up(const Launch& launch) {
  const auto start = Clock::now();
  launch(stream());
  PEAKLINE_CUDA(cudaGetLastError());
  stream_.synchronize();
  return seconds_since(start);
}

double Sampler::warm_up_for(const Launch& launch, double seconds) {
  constexpr double kBatchSeconds = 2e-3;
  double launch_s = warm_up(launch);
  if (mode_ == Mode::kProfile) return launch_s;
  launch_s = std::max(warm_up(launch), kShortestLaunchSeconds);
  const auto start = Clock::now();
  do {
    const Batch batch{.launches = launches_for(launch, kBatchSeconds, launch_s)};
    launch_s = time_batches(launch, batch, 1).launch_s.front();
  } while (seconds_since(start) < seconds);
  return launch_s;
}

std::int64_t Sampler::launches_for(const Launch& launch, double target_s, double launch_s) const {
  const std::int64_t most = std::max<std::int64_t>(1, kMaxHeldOperations / launch.operations);
  return repeats(
      std::clamp(static_cast<std::int64_t>(std::ceil(target_s / launch_s)), std::int64_t{1}, most));
}

Sampler::Batch Sampler::batch_for(const Launch& launch, double target_s, double launch_s) const {
  const std::int64_t beside =
      std::min(launches_for(launch, kBesideSeconds, std::max(launch_s, kShortestLaunchSeconds)),
               kMaxBesideOperations / launch.operations);
  // The first of these may already occupy all SMs when the probe arrives; the probe starts with the
  // second one at the latest.
  return {.launches = launches_for(launch, target_s, launch_s), .beside_probe = beside + 1};
}

Sampler::Timing Sampler::time_batches(const Launch& launch, const Batch& batch, std::size_t samples,
                                      Probe probe) {
  const std::int64_t launches = repeats(batch.launches);
  const auto by_queue = static_cast<std::size_t>(
      std::max<std::int64_t>(1, kMaxHeldOperations / (launches * launch.operations + 2)));
  const std::size_t count =
      std::clamp<std::size_t>(std::min(repeats(samples), by_queue), 1, kMaxHeldSamples);
  // A launch with more operations would not fit behind the hold; its probe runs after the work.
  const bool beside = probes(launch) && launch.operations <= kMaxBesideOperations;
  std::size_t taken = 0;
  {
    const Released released(hold_);
    hold_.hold(stream());
    for (std::size_t sample = 0; sample < count; ++sample) {
      const bool inside = probe == Probe::kInside && beside && sample + 1 == count;
      events_[2 * sample].record(stream());
      for (std::int64_t i = 0; i < launches; ++i) {
        if (inside && is_probed(static_cast<std::size_t>(i), static_cast<std::size_t>(launches)))
          take_stamp(launch, taken++);
        launch(stream());
      }
      events_[2 * sample + 1].record(stream());
      if (probe == Probe::kBetween && beside && is_probed(sample, count)) {
        take_stamp(launch, taken++);
        for (std::int64_t i = 0; i < batch.beside_probe; ++i) launch(stream());
      }
    }
    if (launch.stamps || (probe != Probe::kNone && !beside)) take_stamp(launch, taken++);
    PEAKLINE_CUDA(cudaGetLastError());
  }
  return read_timing(count, launches, taken);
}

Sampler::Timing Sampler::read_timing(std::size_t samples, std::int64_t launches,
                                     std::size_t probes) {
  stream_.synchronize();
  probe_stream_.synchronize();
  Timing timing;
  timing.launch_s.reserve(samples);
  for (std::size_t sample = 0; sample < samples; ++sample)
    timing.launch_s.push_back(elapsed_s(events_[2 * sample], events_[2 * sample + 1]) /
                              static_cast<double>(launches));
  timing.sm_clock_hz = median_clock(probes);
  return timing;
}

Sampler::Timing Sampler::time_interleaved(const Launch& launch, const Launch& before,
                                          std::size_t samples, Probe probe) {
  const std::size_t count = std::clamp<std::size_t>(repeats(samples), 1, kMaxInterleavedSamples);
  std::size_t taken = 0;
  for (std::size_t sample = 0; sample < count; ++sample) {
    before(stream());
    // Not in the first third, which does not count.
    if (probe != Probe::kNone && sample >= count / 3 &&
        is_probed(sample - count / 3, count - count / 3))
      take_stamp(launch, taken++);
    events_[2 * sample].record(stream());
    launch(stream());
    events_[2 * sample + 1].record(stream());
  }
  PEAKLINE_CUDA(cudaGetLastError());
  return read_timing(count, 1, taken);
}

std::vector<Sampler::Interval> Sampler::load(
    const Launch& launch, const std::function<std::int64_t(double seconds)>& launches_at,
    const std::function<bool(double seconds)>& keep_going) {
  std::vector<Interval> intervals;
  std::array<std::int64_t, kIntervalsAhead + 1> launches{};  // of the interval in each slot
  std::size_t enqueued = 0;
  // Stamp and event slots from 1 on are used in turn.
  const auto slot = [](std::size_t interval) { return 1 + interval % kIntervalsAhead; };
  const auto start = Clock::now();
  const auto enqueue = [&] {
    const std::size_t s = slot(enqueued);
    launches[s] = repeats(launches_at(seconds_since(start)));
    events_[2 * s].record(stream());
    for (std::int64_t i = 0; i < launches[s]; ++i) {
      launch(stream());
      if (i == 0) take_stamp(launch, s);
    }
    events_[2 * s + 1].record(stream());
    ++enqueued;
  };
  for (std::size_t i = 0; i < repeats(kIntervalsAhead); ++i) enqueue();
  bool going = true;
  while (intervals.size() < enqueued) {
    const std::size_t s = slot(intervals.size());
    events_[2 * s + 1].synchronize();
    const double end_s = seconds_since(start);
    intervals.push_back({.end_s = end_s,
                         .launch_s = elapsed_s(events_[2 * s], events_[2 * s + 1]) /
                                     static_cast<double>(launches[s]),
                         .sm_clock_hz = std::nullopt});
    // The probe of an interval may still be running when the interval ends, but not when the next
    // one does.
    if (intervals.size() >= 2)
      intervals[intervals.size() - 2].sm_clock_hz = clock_of(slot(intervals.size() - 2));
    going = going && mode_ == Mode::kNormal && keep_going(end_s);
    if (going) enqueue();
  }
  stream_.synchronize();
  probe_stream_.synchronize();
  intervals.back().sm_clock_hz = clock_of(slot(intervals.size() - 1));
  return intervals;
}

double time_on_host(const std::function<void()>& work, std::int64_t calls) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < calls; ++i) work();
  return seconds_since(start) / static_cast<double>(calls);
}

}  // namespace peakline::cuda

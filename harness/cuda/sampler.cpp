#include "harness/cuda/sampler.hpp"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "harness/hardware/spec.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/clock.hpp"

namespace peakline::cuda {
namespace {

// The driver queues about a thousand launches; on a held stream, a full queue blocks forever.
constexpr std::int64_t kMaxHeldOperations = 400;
constexpr std::size_t kMaxHeldSamples = 64;
constexpr std::size_t kMaxInterleavedSamples =
    150;  // not held: a full queue only blocks for a while
// Intervals of a load enqueued ahead.
constexpr std::size_t kIntervalsAhead = 3;

// Replaces times below the resolution of events.
constexpr double kShortestLaunchSeconds = 1e-7;

// An H200 rarely runs a clock step above its maximum for about 10 ms. Such samples are retaken, but
// not endlessly, as the stated maximum may be wrong.
constexpr int kMostClockRetries = 30;

constexpr std::size_t kInterleavedReadings = 3;
// Two for each interleaved launch; one at each end of the intervals ahead.
constexpr std::size_t kReadingSlots = std::max(2 * kInterleavedReadings, kIntervalsAhead + 1);

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
  // Since 12.0, no device attribute must be checked first.
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
  // The device polls this word, so the store must not be deferred or dropped.
  __atomic_store_n(flag_.data(), ticket_, __ATOMIC_RELEASE);
}

Sampler::Sampler(ClockReader clock_reader, Mode mode, DeviceFacts device)
    : mode_(mode),
      clock_reader_(mode == Mode::kNormal ? std::move(clock_reader) : ClockReader()),
      device_(std::move(device)),
      readings_(kReadingSlots * static_cast<std::size_t>(*device_.sm_count)) {
  if (mode == Mode::kProfile) hold_.disable();
  std::fill_n(readings_.data(), readings_.size(), ClockReading{});
  for (std::size_t i = 0; i < 2 * std::max(kMaxHeldSamples, kMaxInterleavedSamples); ++i)
    events_.emplace_back();
  warm_up([this](cudaStream_t) { read_clocks(0); });
}

void Sampler::rest(double seconds) const {
  if (mode_ == Mode::kNormal) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::span<ClockReading> Sampler::readings(std::size_t slot) const {
  const auto sms = static_cast<std::size_t>(*device_.sm_count);
  return {readings_.data() + slot * sms, sms};
}

void Sampler::read_clocks(std::size_t slot) {
  if (clock_reader_) clock_reader_(stream(), readings(slot));
}

std::optional<double> Sampler::clock_between(std::size_t start, std::size_t end) const {
  return possible_clock(peakline::clock_between(readings(start), readings(end)),
                        device_.sm_clock_max_hz, sm_clock_step(device_));
}

bool Sampler::clock_is_impossible(std::size_t start, std::size_t end) const {
  return clock_reader_ && peakline::clock_between(readings(start), readings(end)) &&
         !clock_between(start, end);
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
    launch_s =
        time_batches(launch, launches_for(launch, kBatchSeconds, launch_s), 1).launch_s.front();
  } while (seconds_since(start) < seconds);
  return launch_s;
}

std::int64_t Sampler::launches_for(const Launch& launch, double target_s, double launch_s) const {
  const std::int64_t most = std::max<std::int64_t>(1, kMaxHeldOperations / launch.operations);
  return repeats(
      std::clamp(static_cast<std::int64_t>(std::ceil(target_s / launch_s)), std::int64_t{1}, most));
}

Sampler::Timing Sampler::time_batches(const Launch& launch, std::int64_t launches,
                                      std::size_t samples) {
  Timing timing = time_batches_once(launch, launches, samples);
  for (; clock_retries_ < kMostClockRetries && clock_is_impossible(0, 1); ++clock_retries_)
    timing = time_batches_once(launch, launches, samples);
  return timing;
}

Sampler::Timing Sampler::time_batches_once(const Launch& launch, std::int64_t launches,
                                           std::size_t samples) {
  launches = repeats(launches);
  const auto by_queue = static_cast<std::size_t>(
      std::max<std::int64_t>(1, kMaxHeldOperations / (launches * launch.operations + 2)));
  const std::size_t count =
      std::clamp<std::size_t>(std::min(repeats(samples), by_queue), 1, kMaxHeldSamples);
  {
    const Released released(hold_);
    hold_.hold(stream());
    read_clocks(0);
    for (std::size_t sample = 0; sample < count; ++sample) {
      events_[2 * sample].record(stream());
      for (std::int64_t i = 0; i < launches; ++i) launch(stream());
      events_[2 * sample + 1].record(stream());
    }
    read_clocks(1);
    PEAKLINE_CUDA(cudaGetLastError());
  }
  stream_.synchronize();
  return {.launch_s = read_times(count, launches), .sm_clock_hz = clock_between(0, 1)};
}

std::vector<double> Sampler::read_times(std::size_t samples, std::int64_t launches) const {
  std::vector<double> launch_s;
  launch_s.reserve(samples);
  for (std::size_t sample = 0; sample < samples; ++sample)
    launch_s.push_back(elapsed_s(events_[2 * sample], events_[2 * sample + 1]) /
                       static_cast<double>(launches));
  return launch_s;
}

Sampler::Timing Sampler::time_interleaved(const Launch& launch, const Launch& before,
                                          std::size_t samples) {
  const std::size_t count = std::clamp<std::size_t>(repeats(samples), 1, kMaxInterleavedSamples);
  std::size_t read = 0;
  for (std::size_t sample = 0; sample < count; ++sample) {
    before(stream());
    // Only the last ones; the first do not count.
    const bool reads = sample + kInterleavedReadings >= count;
    if (reads) read_clocks(2 * read);
    events_[2 * sample].record(stream());
    launch(stream());
    events_[2 * sample + 1].record(stream());
    if (reads) read_clocks(2 * read++ + 1);
  }
  PEAKLINE_CUDA(cudaGetLastError());
  stream_.synchronize();
  std::vector<double> clocks_hz;
  for (std::size_t i = 0; i < read; ++i)
    if (const auto clock_hz = clock_between(2 * i, 2 * i + 1)) clocks_hz.push_back(*clock_hz);
  return {.launch_s = read_times(count, 1), .sm_clock_hz = estimated_clock(clocks_hz)};
}

std::vector<Sampler::Interval> Sampler::load(
    const Launch& launch, const std::function<std::int64_t(double seconds)>& launches_at,
    const std::function<bool(std::span<const Interval>)>& keep_going) {
  std::vector<Interval> intervals;
  std::array<std::int64_t, kIntervalsAhead>
      launches{};  // by interval modulo kIntervalsAhead, like the events
  std::size_t enqueued = 0;
  const auto event = [&](std::size_t interval, std::size_t which) -> const Event& {
    return events_[3 * (interval % kIntervalsAhead) + which];
  };
  // An interval lies between its reading and the next.
  const auto reading = [](std::size_t interval) { return interval % (kIntervalsAhead + 1); };
  const auto start = Clock::now();
  const auto enqueue = [&] {
    std::int64_t& count = launches[enqueued % kIntervalsAhead];
    count = repeats(launches_at(seconds_since(start)));
    event(enqueued, 0).record(stream());
    for (std::int64_t i = 0; i < count; ++i) launch(stream());
    event(enqueued, 1).record(stream());
    read_clocks(reading(enqueued + 1));
    event(enqueued, 2).record(stream());
    ++enqueued;
  };
  read_clocks(reading(0));
  for (std::size_t i = 0; i < repeats(kIntervalsAhead); ++i) enqueue();
  bool going = true;
  while (intervals.size() < enqueued) {
    const std::size_t i = intervals.size();
    event(i, 2).synchronize();
    const double end_s = seconds_since(start);
    intervals.push_back({.end_s = end_s,
                         .launch_s = elapsed_s(event(i, 0), event(i, 1)) /
                                     static_cast<double>(launches[i % kIntervalsAhead]),
                         .sm_clock_hz = clock_between(reading(i), reading(i + 1))});
    going = going && mode_ == Mode::kNormal && keep_going(intervals);
    if (going) enqueue();
  }
  stream_.synchronize();
  return intervals;
}

double time_on_host(const std::function<void()>& work, std::int64_t calls) {
  while (true) {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) work();
    // Zero if the system's clock was set back meanwhile: repeat.
    if (const double seconds = seconds_since(start); seconds > 0)
      return seconds / static_cast<double>(calls);
  }
}

}  // namespace peakline::cuda

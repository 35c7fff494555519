#pragma once

// Times GPU work. A sample is a batch of launches between two events, enqueued on a held stream so
// that launching by the host is not timed.

#include <cuda_runtime_api.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/cuda/device.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/statistics/sm_clock.hpp"
#include "harness/values/facts.hpp"

namespace peakline::cuda {

// Blocks a stream by a wait for a value in pinned host memory. A waiting kernel would occupy an SM
// and block lazy loading.
class StreamHold {
 public:
  StreamHold();
  // False if the driver lacks stream memory operations; hold() then does nothing.
  bool available() const { return wait_value_ != nullptr; }
  void disable() { wait_value_ = nullptr; }
  void hold(cudaStream_t stream);
  void release();  // also on unwinding, or the stream stays held

 private:
  void* wait_value_ = nullptr;  // cuStreamWaitValue32
  PinnedBuffer<std::uint32_t> flag_;
  std::uint32_t ticket_ = 0;
};

struct LaunchTraits {
  std::int64_t operations = 1;  // upper bound of entries in the driver's queue
  bool over_pcie = false;       // moves enough data to read the link's state meanwhile
};

// One launch: a function that enqueues it on a stream without waiting.
struct Launch : LaunchTraits {
  template <class Enqueue>
  requires(!std::derived_from<Enqueue, LaunchTraits> && std::invocable<Enqueue&, cudaStream_t>)
      Launch(Enqueue how, LaunchTraits traits = {})
      : LaunchTraits(traits), enqueue(std::move(how)) {}

  void operator()(cudaStream_t stream) const { enqueue(stream); }

  std::function<void(cudaStream_t)> enqueue;
};

// Much longer than the jitter of events, about 1 us.
inline constexpr double kSampleSeconds = 5e-4;

class Sampler {
 public:
  // Enqueues a kernel that reads the clocks of `readings.size()` SMs.
  using ClockReader = std::function<void(cudaStream_t, std::span<ClockReading> readings)>;

  enum class Mode {
    kNormal,
    // For ncu, nsys and compute-sanitizer, under which a held stream stalls: launches once, without
    // hold, clock readings or rests.
    kProfile,
  };

  // clock_reader: reads all SMs' clocks right before and after the timed work, for the mean clock
  // over exactly that time, with nothing running beside it; empty: SM clocks stay unknown. device:
  // the current one; its maximum clock and step bound plausible readings.
  explicit Sampler(ClockReader clock_reader = {}, Mode mode = Mode::kNormal,
                   DeviceFacts device = device_facts());

  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  // Whether batches should be held, but cannot be.
  bool cannot_hold() const { return mode_ == Mode::kNormal && !hold_.available(); }
  StreamHold& stream_hold() { return hold_; }

  // `count`, or 1 under a profiler.
  template <class Count>
  Count repeats(Count count) const {
    return mode_ == Mode::kProfile ? Count{1} : count;
  }
  // Leaves the device idle; not under a profiler.
  void rest(double seconds) const;

  // Launches once and waits: loads code and surfaces errors. Returns host seconds.
  double warm_up(const Launch& launch);

  // Repeats the launch for at least `seconds`, to ramp up clocks; returns seconds per launch.
  double warm_up_for(const Launch& launch, double seconds);

  // Launches in a batch of about `target_s`, as far as they fit behind a hold.
  std::int64_t launches_for(const Launch& launch, double target_s, double launch_s) const;

  struct Timing {
    std::vector<double> launch_s;       // per sample, in time order
    std::optional<double> sm_clock_hz;  // mean over these samples, if readable
  };

  // Times `samples` batches, or fewer (at least one) if they do not fit behind a hold. Repeats
  // batches with an impossible clock.
  Timing time_batches(const Launch& launch, std::int64_t launches, std::size_t samples);

  struct Interval {
    double end_s = 0;     // since the start of the load, device time
    double launch_s = 0;  // seconds per launch
    std::optional<double> sm_clock_hz;
  };
  // Unbroken load: the next interval is always enqueued, with launches_at(seconds since the start)
  // launches. Calls keep_going after each interval, with those that have ended, until it returns
  // false.
  std::vector<Interval> load(const Launch& launch,
                             const std::function<std::int64_t(double seconds)>& launches_at,
                             const std::function<bool(std::span<const Interval>)>& keep_going);

  // Times `samples` single launches, each after an untimed `before`, back to back on the device.
  // May return fewer, at least one. The clock is that of the last few.
  Timing time_interleaved(const Launch& launch, const Launch& before, std::size_t samples);

 private:
  void read_clocks(std::size_t slot);
  // The mean clock between two completed readings.
  std::optional<double> clock_between(std::size_t start, std::size_t end) const;
  // Whether that clock is absent because it would be impossible.
  bool clock_is_impossible(std::size_t start, std::size_t end) const;
  Timing time_batches_once(const Launch& launch, std::int64_t launches, std::size_t samples);
  std::span<ClockReading> readings(std::size_t slot) const;
  // Requires an idle stream.
  std::vector<double> read_times(std::size_t samples, std::int64_t launches) const;

  Mode mode_;
  Stream stream_;
  StreamHold hold_;
  ClockReader clock_reader_;
  DeviceFacts device_;
  PinnedBuffer<ClockReading> readings_;  // per slot, one for each SM
  std::vector<Event> events_;
  int clock_retries_ = 0;
};

// Host seconds per call of `work`, by two clock readings around `calls` calls.
double time_on_host(const std::function<void()>& work, std::int64_t calls);

}  // namespace peakline::cuda

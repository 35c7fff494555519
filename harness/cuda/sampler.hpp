#pragma once

// Times GPU work. A sample is a batch of launches between two events; batches are enqueued on a
// held stream, so that the timing covers the device and not launching by the host.

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

// Blocks a stream until released, without occupying an SM: the stream waits for a value in
// page-locked host memory. A waiting kernel would also work, but it blocks lazy loading and
// occupies an SM.
class StreamHold {
 public:
  StreamHold();
  // False if the driver has no stream memory operations; hold() then does nothing.
  bool available() const { return wait_value_ != nullptr; }
  // Turns hold() off.
  void disable() { wait_value_ = nullptr; }
  void hold(cudaStream_t stream);
  void release();  // also on unwinding: a held stream never resumes by itself

 private:
  void* wait_value_ = nullptr;  // cuStreamWaitValue32
  PinnedBuffer<std::uint32_t> flag_;
  std::uint32_t ticket_ = 0;
};

// The sampler must know this about a launch besides how to enqueue it.
struct LaunchTraits {
  std::int64_t operations = 1;  // at most this many entries in the driver's queue
  bool over_pcie = false;       // moves enough data for the state of the link to be read meanwhile
};

// One launch of the work: a function that enqueues it on a stream and does not wait.
struct Launch : LaunchTraits {
  template <class Enqueue>
  requires(!std::derived_from<Enqueue, LaunchTraits> && std::invocable<Enqueue&, cudaStream_t>)
      Launch(Enqueue how, LaunchTraits traits = {})
      : LaunchTraits(traits), enqueue(std::move(how)) {}

  void operator()(cudaStream_t stream) const { enqueue(stream); }

  std::function<void(cudaStream_t)> enqueue;
};

// A sample must be much longer than the jitter of events, about a microsecond.
inline constexpr double kSampleSeconds = 5e-4;

class Sampler {
 public:
  // Enqueues a kernel that reads the clocks of as many SMs as there are readings.
  using ClockReader = std::function<void(cudaStream_t, std::span<ClockReading> readings)>;

  enum class Mode {
    kNormal,
    // ncu, nsys and compute-sanitizer need this, since under them a held stream stalls and repeated
    // launches only cost time: all is launched once, without hold, clock readings or rests.
    kProfile,
  };

  // The clocks of all SMs are read right before and right after the work that is timed, so that the
  // clock is the mean over the very same time, and nothing runs beside the work. (A thread beside
  // it would have to wait for busy SMs to issue its instructions, tens of microseconds in bad
  // cases.) Empty: the SM clock is not known. device: the current one, whose maximum SM clock and
  // step tell which readings are possible.
  explicit Sampler(ClockReader clock_reader = {}, Mode mode = Mode::kNormal,
                   DeviceFacts device = device_facts());

  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  // True if the stream should be held while batches are enqueued, but cannot be.
  bool cannot_hold() const { return mode_ == Mode::kNormal && !hold_.available(); }
  StreamHold& stream_hold() { return hold_; }

  // `count`, or 1 under a profiler.
  template <class Count>
  Count repeats(Count count) const {
    return mode_ == Mode::kProfile ? Count{1} : count;
  }
  // Leaves the device idle for a while; not under a profiler.
  void rest(double seconds) const;

  // Launches once and waits, so that code is loaded and errors appear here. Returns the seconds by
  // the host clock.
  double warm_up(const Launch& launch);

  // Repeats the launch for at least `seconds`, so that clocks ramp up; returns the seconds of one
  // launch.
  double warm_up_for(const Launch& launch, double seconds);

  // How many launches make a batch of about `target_s`, given the seconds of one; at most as many
  // as fit behind a hold.
  std::int64_t launches_for(const Launch& launch, double target_s, double launch_s) const;

  struct Timing {
    std::vector<double> launch_s;       // seconds per launch, one value per sample, in time order
    std::optional<double> sm_clock_hz;  // the mean over these samples, if it could be read
  };

  // Times `samples` batches. May return fewer than asked for, but at least one: as many as fit
  // behind one hold. Batches during which the clock is above what is possible are timed again.
  Timing time_batches(const Launch& launch, std::int64_t launches, std::size_t samples);

  struct Interval {
    double end_s = 0;     // since the start of the load, device time
    double launch_s = 0;  // seconds per launch
    std::optional<double> sm_clock_hz;
  };
  // Unbroken load: the stream always has the next interval enqueued, with launches_at(seconds since
  // the start) launches. Ends when keep_going, called after each interval with those that have
  // ended, returns false.
  std::vector<Interval> load(const Launch& launch,
                             const std::function<std::int64_t(double seconds)>& launches_at,
                             const std::function<bool(std::span<const Interval>)>& keep_going);

  // Times each of `samples` launches alone, with an untimed `before` enqueued ahead of each; the
  // device runs them back to back. May return fewer samples than asked for, but at least one. The
  // clock is that of a few of the timed launches.
  Timing time_interleaved(const Launch& launch, const Launch& before, std::size_t samples);

 private:
  // Enqueues a reading of all SMs' clocks into a slot.
  void read_clocks(std::size_t slot);
  // The mean clock between the readings of two slots, once they have been made.
  std::optional<double> clock_between(std::size_t start, std::size_t end) const;
  // Whether that clock is absent because it is above what is possible.
  bool clock_is_impossible(std::size_t start, std::size_t end) const;
  Timing time_batches_once(const Launch& launch, std::int64_t launches, std::size_t samples);
  std::span<ClockReading> readings(std::size_t slot) const;
  // Reads the times of `samples` pairs of events, once the stream is idle.
  std::vector<double> read_times(std::size_t samples, std::int64_t launches) const;

  Mode mode_;
  Stream stream_;
  StreamHold hold_;
  ClockReader clock_reader_;
  DeviceFacts device_;
  PinnedBuffer<ClockReading> readings_;  // a slot has one for each SM
  std::vector<Event> events_;
  int clock_retries_ = 0;
};

// Host seconds per call of `work`, from two clock readings around `calls` calls.
double time_on_host(const std::function<void()>& work, std::int64_t calls);

}  // namespace peakline::cuda

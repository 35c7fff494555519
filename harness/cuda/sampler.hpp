#pragma once

// Times GPU work. A sample is a batch of launches between two events; batches are enqueued on a
// held stream, so that the timing covers the device and not launching by the host.

#include <cuda_runtime_api.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "harness/cuda/resources.hpp"

namespace peakline::cuda {

// SM cycles and nanoseconds of the global timer between two points of one kernel: their quotient is
// the actual SM clock.
struct ClockStamp {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};

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

// What the sampler must know about a launch besides how to enqueue it.
struct LaunchTraits {
  bool stamps = false;          // the kernel itself writes Sampler::device_stamp()
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
  // Launches a one-thread kernel that spins briefly and writes a ClockStamp.
  using ClockProbe = std::function<void(cudaStream_t, ClockStamp* stamp)>;

  enum class Mode {
    kNormal,
    // For ncu, nsys and compute-sanitizer, under which a held stream stalls and repeated launches
    // only cost time: everything is launched once, without hold, probes or rests.
    kProfile,
  };

  // The probe runs beside the work, not after it, because a clock lowered by the power cap recovers
  // within microseconds. Empty: the SM clock is known only if the work stamps it.
  explicit Sampler(ClockProbe clock_probe = {}, Mode mode = Mode::kNormal);

  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  ClockStamp* device_stamp() const { return device_stamp_.data(); }
  // True if the stream should be held while batches are enqueued, but cannot be.
  bool cannot_hold() const { return mode_ == Mode::kNormal && !hold_.available(); }
  StreamHold& stream_hold() { return hold_; }
  // Whether the SM clock of this launch comes from a probe.
  bool probes(const Launch& launch) const { return !launch.stamps && clock_probe_; }

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

  struct Batch {
    std::int64_t launches = 1;
    // Untimed launches that keep the device busy while a probe spins between batches.
    std::int64_t beside_probe = 1;
  };
  // A batch of launches_for() launches.
  Batch batch_for(const Launch& launch, double target_s, double launch_s) const;

  // When the clock is probed, a few times, if the work does not stamp it itself.
  enum class Probe {
    kNone,
    kBetween,  // between the samples, beside untimed launches
    kInside,   // within the last sample, whose time the probe then affects
  };

  struct Timing {
    std::vector<double> launch_s;  // seconds per launch, one value per sample, in time order
    // The clock during these samples: stamped by the last launch, or the median of the probes;
    // nullopt if neither stamped nor probed.
    std::optional<double> sm_clock_hz;
  };

  // Times `samples` batches. May return fewer than asked for, but at least one: as many as fit
  // behind one hold.
  Timing time_batches(const Launch& launch, const Batch& batch, std::size_t samples,
                      Probe probe = Probe::kNone);

  struct Interval {
    double end_s = 0;     // since the start of the load, device time
    double launch_s = 0;  // seconds per launch
    std::optional<double> sm_clock_hz;
  };
  // Unbroken load: the stream always has the next interval enqueued, with launches_at(seconds since
  // the start) launches. Ends when keep_going(seconds), called after each interval, returns false.
  std::vector<Interval> load(const Launch& launch,
                             const std::function<std::int64_t(double seconds)>& launches_at,
                             const std::function<bool(double seconds)>& keep_going);

  // Times each of `samples` launches alone, with an untimed `before` enqueued ahead of each; the
  // device runs them back to back. May return fewer samples than asked for, but at least one.
  Timing time_interleaved(const Launch& launch, const Launch& before, std::size_t samples,
                          Probe probe = Probe::kNone);

 private:
  // Enqueues a copy of the stamp written by the work; or a probe, beside the work enqueued next,
  // and a copy of its stamp.
  void take_stamp(const Launch& launch, std::size_t slot);
  std::optional<double> clock_of(std::size_t slot) const;
  // The median clock of the first `count` slots, ignoring those without a stamp.
  std::optional<double> median_clock(std::size_t count) const;
  // Waits for `samples` pairs of events and for the probes.
  Timing read_timing(std::size_t samples, std::int64_t launches, std::size_t probes);

  Mode mode_;
  Stream stream_;
  Stream probe_stream_;
  Event probe_gate_{cudaEventDisableTiming};
  StreamHold hold_;
  ClockProbe clock_probe_;
  DeviceBuffer<ClockStamp> device_stamp_;
  PinnedBuffer<ClockStamp> host_stamps_;
  std::vector<Event> events_;
};

// Host seconds per call of `work`, from two clock readings around `calls` calls.
double time_on_host(const std::function<void()>& work, std::int64_t calls);

}  // namespace peakline::cuda

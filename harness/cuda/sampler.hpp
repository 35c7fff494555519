#pragma once

// Times GPU work. A sample is a batch of launches between two events; batches are enqueued behind a
// held stream, so that what is timed is the device and not the host's launching.

#include <cuda_runtime_api.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "harness/cuda/resources.hpp"

namespace peakline::cuda {

// Cycles of one SM's clock and nanoseconds of the global timer that passed between two points of
// one kernel: their quotient is the clock that the SM really ran at.
struct ClockStamp {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};

// Blocks a stream until released, without occupying an SM: the stream waits for a value in
// page-locked host memory. A waiting kernel would do too, but it blocks lazy loading and takes an
// SM.
class StreamHold {
 public:
  StreamHold();
  // False where the driver has no stream memory operations; hold() then does nothing.
  bool available() const { return wait_value_ != nullptr; }
  // Holds no stream from now on.
  void disable() { wait_value_ = nullptr; }
  void hold(cudaStream_t stream);
  void release();  // also by whoever unwinds: a held stream never ends by itself

 private:
  void* wait_value_ = nullptr;  // cuStreamWaitValue32
  PinnedBuffer<std::uint32_t> flag_;
  std::uint32_t ticket_ = 0;
};

// What the sampler needs to know about a launch, besides how to enqueue it.
struct LaunchTraits {
  bool stamps = false;          // the kernel itself writes Sampler::device_stamp()
  std::int64_t operations = 1;  // entries of the driver's queue that it takes, at most
  bool over_pcie = false;       // it moves enough data for the link's state to be read meanwhile
};

// One launch of the work: anything that enqueues it on a stream without waiting for it.
struct Launch : LaunchTraits {
  template <class Enqueue>
  requires(!std::derived_from<Enqueue, LaunchTraits> && std::invocable<Enqueue&, cudaStream_t>)
      Launch(Enqueue how, LaunchTraits traits = {})
      : LaunchTraits(traits), enqueue(std::move(how)) {}

  void operator()(cudaStream_t stream) const { enqueue(stream); }

  std::function<void(cudaStream_t)> enqueue;
};

// A sample must last well beyond the microsecond by which events jitter.
inline constexpr double kSampleSeconds = 5e-4;

class Sampler {
 public:
  // Launches a kernel of one thread that spins for a moment and puts down a ClockStamp.
  using ClockProbe = std::function<void(cudaStream_t, ClockStamp* stamp)>;

  enum class Mode {
    kNormal,
    // For ncu, nsys and compute-sanitizer, under which a held stream stalls and repeated launches
    // only cost time: whatever is asked for is launched once, unheld and unprobed, without rests.
    kProfile,
  };

  // The probe runs beside the work, not after it, where a clock that power held down recovers
  // within microseconds. Empty: the SM clock is known only where the work stamps.
  explicit Sampler(ClockProbe clock_probe = {}, Mode mode = Mode::kNormal);

  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  ClockStamp* device_stamp() const { return device_stamp_.data(); }
  // True where batches should be held back until they are enqueued, but cannot be.
  bool cannot_hold() const { return mode_ == Mode::kNormal && !hold_.available(); }
  StreamHold& stream_hold() { return hold_; }
  // Whether the SM clock of this launch is found by probing.
  bool probes(const Launch& launch) const { return !launch.stamps && clock_probe_; }

  // `count`, or 1 under a profiler.
  template <class Count>
  Count repeats(Count count) const {
    return mode_ == Mode::kProfile ? Count{1} : count;
  }
  // Leaves the device idle; not under a profiler.
  void rest(double seconds) const;

  // Launches it once and waits, so that code is loaded and its errors appear here. Returns its
  // seconds, host clock.
  double warm_up(const Launch& launch);

  // Repeats it for at least `seconds`, so that clocks are up; returns the seconds of one launch.
  double warm_up_for(const Launch& launch, double seconds);

  // The launches that make a batch last about `target_s`, given the seconds of one; no more than
  // fit behind a hold.
  std::int64_t launches_for(const Launch& launch, double target_s, double launch_s) const;

  struct Batch {
    std::int64_t launches = 1;
    // Launches that are not timed, to keep the device busy while a probe spins between batches.
    std::int64_t beside_probe = 1;
  };
  // Of launches_for() launches.
  Batch batch_for(const Launch& launch, double target_s, double launch_s) const;

  // When the clock is probed, a few times, where the work does not stamp it itself.
  enum class Probe {
    kNone,
    kBetween,  // in between the samples, beside launches that are not timed
    kInside,   // within the last sample, whose time is no longer the work's alone
  };

  struct Timing {
    std::vector<double> launch_s;  // seconds a launch, one value a sample, in time order
    // While these ran: as stamped by the last launch, or the median of the probes; nullopt where
    // it was neither stamped nor probed.
    std::optional<double> sm_clock_hz;
  };

  // Times `samples` batches. Fewer may come back than asked for, but at least one: as many as fit
  // behind one hold.
  Timing time_batches(const Launch& launch, const Batch& batch, std::size_t samples,
                      Probe probe = Probe::kNone);

  struct Interval {
    double end_s = 0;     // since the start of the load, device time
    double launch_s = 0;  // seconds a launch
    std::optional<double> sm_clock_hz;
  };
  // Unbroken load: the stream always has the next interval enqueued, of launches_at(seconds since
  // the start) launches, until keep_going(seconds), asked after each interval, says no.
  std::vector<Interval> load(const Launch& launch,
                             const std::function<std::int64_t(double seconds)>& launches_at,
                             const std::function<bool(double seconds)>& keep_going);

  // Times each of `samples` launches alone, with `before` enqueued ahead of it, which is not timed;
  // the device does one after the other without a pause. Fewer samples may come back than asked
  // for, but at least one.
  Timing time_interleaved(const Launch& launch, const Launch& before, std::size_t samples,
                          Probe probe = Probe::kNone);

 private:
  // Enqueues the copy of what the work stamped, or the probe, beside what is enqueued next on the
  // stream, and the copy of its stamp.
  void take_stamp(const Launch& launch, std::size_t slot);
  std::optional<double> clock_of(std::size_t slot) const;
  // The median of the first `count` slots that hold a stamp.
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

// Host seconds a call of `work` repeated `calls` times, between two readings of the host's clock.
double time_on_host(const std::function<void()>& work, std::int64_t calls);

}  // namespace peakline::cuda

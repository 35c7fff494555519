#pragma once

// Times GPU work. A sample is a batch of launches between two events; batches are enqueued behind a
// held stream, so that what is timed is the device and not the host's launching.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  void hold(cudaStream_t stream);
  void release();  // also by whoever unwinds: a held stream never ends by itself

 private:
  void* wait_value_ = nullptr;  // cuStreamWaitValue32
  PinnedBuffer<std::uint32_t> flag_;
  std::uint32_t ticket_ = 0;
};

// Enqueues one launch of the work on the stream; must not wait for it.
using Launch = std::function<void(cudaStream_t)>;

class Sampler {
 public:
  // Launches a kernel of one thread that spins for a moment and puts down a ClockStamp.
  using ClockProbe = std::function<void(cudaStream_t, ClockStamp* stamp)>;

  // The probe runs beside the work, not after it, where a clock that power held down recovers
  // within microseconds. Empty: the SM clock is known only where the work stamps.
  explicit Sampler(ClockProbe clock_probe = {});

  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }
  ClockStamp* device_stamp() const { return device_stamp_.data(); }

  // Launches it once and waits, so that code is loaded and its errors appear here. Returns its
  // seconds, host clock.
  double warm_up(const Launch& launch);

  // Repeats it for at least `seconds`, so that clocks are up; returns the seconds of one launch.
  double warm_up_for(const Launch& launch, double seconds);

  // When the clock is probed, a few times, where the work does not stamp it itself.
  enum class Probe {
    kNone,
    kBetween,  // in between the samples, beside launches that are not timed
    kInside,   // within the last sample, whose time is no longer the work's alone
  };

  // Seconds a launch of `samples` batches of `launches` each, in time order. Fewer samples may come
  // back than asked for, but at least one: as many as fit behind one hold.
  std::vector<double> time_batches(const Launch& launch, std::int64_t launches, std::size_t samples,
                                   Probe probe = Probe::kNone);

  // The launches that make a batch last about `target_s`, given the seconds of one; no more than
  // fit behind a hold.
  std::int64_t launches_for(double target_s, double launch_s) const;

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

  // Seconds of each of `samples` launches, every one timed alone, with `before` enqueued ahead of
  // it, which is not timed; the device does one after the other without a pause. Fewer samples may
  // come back than asked for, but at least one.
  std::vector<double> time_apart(const Launch& launch, const Launch& before, std::size_t samples,
                                 Probe probe = Probe::kNone);

  // The SM clock when it was last probed (the median, where more than once) or, by what the work
  // put into device_stamp(), during the last batch; nullopt where neither ever was.
  std::optional<double> sm_clock_hz() const;

  // What the next launches are like. stamps: the work itself writes device_stamp(), so that no
  // probe is needed. operations: how many entries of the driver's queue one launch takes.
  void describe_work(bool stamps, std::int64_t operations) {
    work_stamps_ = stamps;
    operations_per_launch_ = operations;
  }

 private:
  // Enqueues the copy of what the work stamped, or the probe, beside what is enqueued next on the
  // stream, and the copy of its stamp.
  void take_stamp(std::size_t slot);
  // As many launches as last while the probe spins beside them.
  void launch_beside_probe(const Launch& launch);
  std::optional<double> clock_of(std::size_t slot) const;

  Stream stream_;
  Stream probe_stream_;
  Event probe_gate_{cudaEventDisableTiming};
  double last_launch_s_ = 0;  // of the batches before
  std::size_t probed_ = 1;    // slots of the stamps that sm_clock_hz() is of
  StreamHold hold_;
  ClockProbe clock_probe_;
  DeviceBuffer<ClockStamp> device_stamp_;
  PinnedBuffer<ClockStamp> host_stamps_;
  std::vector<Event> events_;
  bool work_stamps_ = false;
  std::int64_t operations_per_launch_ = 1;
};

// Host seconds a call of `work` repeated `calls` times, between two readings of the host's clock.
double time_on_host(const std::function<void()>& work, std::int64_t calls);

}  // namespace peakline::cuda

#pragma once

// Declares what a GPU benchmark function gets. bench.hpp has the part shared with the host.

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/benchmark/candidate_search.hpp"
#include "harness/benchmark/load.hpp"
#include "harness/benchmark/trains.hpp"
#include "harness/cuda/nvml.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/cuda/telemetry.hpp"
#include "harness/values/facts.hpp"

namespace peakline::bench {

// Enqueues a kernel that reads the clocks of as many SMs as there are readings, in memory that the
// device can write.
void read_sm_clocks(cudaStream_t stream, std::span<ClockReading> readings);

// Holds what a GPU worker keeps between points.
struct CudaSession {
  // nvml: nullptr if NVML is not available; must outlive this object.
  CudaSession(const cuda::Nvml* nvml, const RunOptions& options);

  const cuda::Nvml* nvml;
  DeviceFacts facts;  // from NVML, completed by CUDA
  cuda::Sampler sampler;
  cuda::Telemetry telemetry;
  LoadRunner loads{sampler};
  double rest_s = 0;  // that the device was found to need before a train
};

class CudaBench : public Bench {
 public:
  using Launch = cuda::Launch;

  CudaBench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
            WorkerCache& cache, CudaSession& session, RoundMember* round = nullptr);

  const DeviceFacts& device() const { return session_.facts; }
  cuda::Sampler& sampler() const { return session_.sampler; }
  LoadRunner& loads() const { return session_.loads; }
  cudaStream_t stream() const { return session_.sampler.stream(); }
  unsigned sm_count() const { return static_cast<unsigned>(*session_.facts.sm_count); }

  // See facts.hpp; for this device.
  std::size_t beyond_l2(std::size_t bytes, double l2s) const {
    return peakline::beyond_l2(device(), bytes, l2s);
  }
  // `bytes`, or the free device memory if that is less (with a remark), rounded down to a multiple
  // of `granule`. Skips the point if not even one granule is free.
  std::size_t fit_memory(std::size_t bytes, std::size_t granule);
  // Like fit_memory(), without the remark: for memory that is not what the point measures.
  std::size_t fitting_memory(std::size_t bytes, std::size_t granule) const;
  // Nearly all of the free device memory; half of it where the host shares it.
  std::size_t whole_memory(std::size_t granule) const;

  // Launches once and waits, for verify() to check the result. Returns the seconds by the host's
  // clock.
  double launch_once(const Launch& launch);

  // Seconds of one launch after warming up, to size the measured one by.
  double time_roughly(const Launch& launch);

  // Measures by the rule of the point: curve and full as continuous sampling, burst as trains from
  // rest, sustained as unbroken load. Fills the record. The launch must only enqueue.
  void measure(const Work& work, const Launch& launch);

  // Brief trains from rest with `before` ahead of each launch; only the launch is timed. The value
  // is the median of the means of the trains.
  void measure_interleaved(const Work& work, const Launch& launch, const Launch& before);

  // This is measure() for work that the host's clock has to time: `call` returns when the work is
  // done (or, to measure the cost of a call, when the call is). `between` runs after each sample,
  // outside the timing. calls: per sample; 0: enough for the clock to resolve.
  void measure_on_host(const Work& work, const std::function<void()>& call, std::int64_t calls = 0,
                       const std::function<void()>& between = {});

  // Calls again and again for as long as the point's load lasts; `call` returns when its work is
  // done, by the host's clock. For loads that the host makes step by step. before: untimed, ahead
  // of each call.
  void measure_calls(const Work& work, const std::function<void()>& call,
                     const std::function<void()>& before = {});

  // Called, while the device is idle, whenever the load of measure() or measure_calls() begins.
  void when_load_begins(std::function<void()> call) { load_begins_ = std::move(call); }

  // Times a kernel that repeats a step and reads the clock right before and after, on one SM or on
  // several at once: the value is the time of one step between the two readings, the mean of the
  // SMs, and the clock is theirs. launch_of: one launch of so many steps; stamps: the readings of
  // the latest launch, those before and then, in the same order, those after. They are in device
  // memory: a kernel that has written to host memory pays for that at its later fences, which on an
  // H200 makes 607 cycles of a cluster's barrier of some 380.
  void measure_stamped(const std::function<Launch(std::uint64_t steps)>& launch_of,
                       const cuda::DeviceBuffer<ClockReading>& stamps);

  // Time that one launch adds between two events, compared with two events with nothing in between:
  // for work shorter than the jitter of events. Throws std::runtime_error if it adds nothing.
  void measure_difference(const Work& work, const Launch& launch);

  // The index of the cheapest of `count` candidates; notes their number. Throws
  // std::invalid_argument if there is none.
  std::size_t search(std::size_t count, const std::function<Launch(std::size_t)>& launch_of,
                     double seconds, const SearchCost& cost = {});
  // Returns all candidates, best first, and notes nothing.
  std::vector<std::size_t> rank(std::size_t count,
                                const std::function<Launch(std::size_t)>& launch_of, double seconds,
                                const SearchCost& cost = {});

 private:
  void measure_sampled(const Work& work, const Launch& launch);
  void measure_burst(const Work& work, const Launch& launch);
  Trains trains_of_sitting(Rule rule) const;
  void measure_load(const Work& work, const Launch& launch);
  // The time from which a soak counts; notes its equilibrium.
  double soak_from_s(double end_s);
  // Ends the telemetry window. mostly_rest: averages over the window would say nothing about the
  // work.
  void take_conditions(bool mostly_rest = false);
  // Call it once the value is known. nullopt: the clock could not be read, and the record has none.
  void take_clock(std::optional<double> clock_hz, ClockSource source = ClockSource::kProbe);
  void remark_if_unheld();
  void read_pcie_link(const Launch& launch, double launch_s);

  CudaSession& session_;
  std::function<void()> load_begins_ = [] {};
};

}  // namespace peakline::bench

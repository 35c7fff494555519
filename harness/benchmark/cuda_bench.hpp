#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/benchmark/candidate_search.hpp"
#include "harness/benchmark/load.hpp"
#include "harness/benchmark/trains.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/values/facts.hpp"

// Not included: nvcc reads each header three times for each file with device code.
namespace peakline::cuda {
class Nvml;
class Telemetry;
}  // namespace peakline::cuda

namespace peakline::bench {

// Enqueues a kernel that reads the clocks of `readings.size()` SMs into device-writable memory.
void read_sm_clocks(cudaStream_t stream, std::span<ClockReading> readings);

// A GPU worker's state between points.
struct CudaSession {
  // nvml: nullptr if unavailable; must outlive this.
  CudaSession(const cuda::Nvml* nvml, const RunOptions& options);
  ~CudaSession();
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;

  const cuda::Nvml* nvml;
  DeviceFacts facts;  // NVML's, completed by CUDA
  cuda::Sampler sampler;
  std::unique_ptr<cuda::Telemetry> telemetry;
  LoadRunner loads{sampler};
  double rest_s = 0;  // needed before a train, as found so far
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

  // See facts.hpp.
  std::size_t beyond_l2(std::size_t bytes, double l2s) const {
    return peakline::beyond_l2(device(), bytes, l2s);
  }
  // `bytes` or, with a remark, the free device memory if less, rounded down to a multiple of
  // `granule`. Skips the point if no granule is free.
  std::size_t fit_memory(std::size_t bytes, std::size_t granule);
  // Without the remark, for memory that is not measured.
  std::size_t fitting_memory(std::size_t bytes, std::size_t granule) const;
  // Nearly all free device memory; half of it if the host shares it.
  std::size_t whole_memory(std::size_t granule) const;

  // Launches once and waits, for verify(). Returns host seconds.
  double launch_once(const Launch& launch);

  // Seconds per launch after a warm-up, to size the measured one.
  double time_roughly(const Launch& launch);

  // Measures by the point's timing (curve, full: continuous sampling; burst: trains from rest;
  // sustained: unbroken load) and fills the record. The launch must only enqueue.
  void measure(const Work& work, const Launch& launch);

  // Brief trains with an untimed `before` ahead of each launch: the median of the trains' means.
  void measure_interleaved(const Work& work, const Launch& launch, const Launch& before);

  // measure() by the host's clock: `call` returns when the work (or, to measure a call, the call)
  // is done. `between`: untimed, after each sample. calls: per sample; 0: enough for the clock's
  // resolution.
  void measure_on_host(const Work& work, const std::function<void()>& call, std::int64_t calls = 0,
                       const std::function<void()>& between = {});

  // Repeats `call` while the point's load lasts, for loads that the host drives; it returns when
  // its work is done. Host clock. before: untimed, before each call.
  void measure_calls(const Work& work, const std::function<void()>& call,
                     const std::function<void()>& before = {});

  // For what is timed by the benchmark itself: seconds per launch of blocks.
  void measure_blocks(const Work& work, const std::function<std::vector<double>()>& seconds);

  // Calls this, on an idle device, whenever the load of measure() or measure_calls() begins.
  void when_load_begins(std::function<void()> call) { load_begins_ = std::move(call); }

  // Times a kernel that repeats a step and reads the clock before and after, on one or several SMs:
  // the value is the mean time per step, with the SMs' clock. launch_of: a launch of that many
  // steps. stamps: the latest launch's readings before, then after, in the same order; in device
  // memory, since earlier writes to host memory slow a kernel's fences (on an H200, a cluster
  // barrier takes 607 instead of 380 cycles).
  void measure_stamped(const std::function<Launch(std::uint64_t steps)>& launch_of,
                       const cuda::DeviceBuffer<ClockReading>& stamps);

  // Time that a launch adds between two events, for work shorter than their jitter. Throws
  // std::runtime_error if it adds none.
  void measure_difference(const Work& work, const Launch& launch);

  // The cheapest of `count` candidates; notes their number. Throws std::invalid_argument.
  std::size_t search(std::size_t count, const std::function<Launch(std::size_t)>& launch_of,
                     double seconds, const SearchCost& cost = {});
  // All candidates, best first, without a note.
  std::vector<std::size_t> rank(std::size_t count,
                                const std::function<Launch(std::size_t)>& launch_of, double seconds,
                                const SearchCost& cost = {});

 private:
  void measure_sampled(const Work& work, const Launch& launch);
  void measure_burst(const Work& work, const Launch& launch);
  Trains trains_of_sitting(Timing timing) const;
  void measure_load(const Work& work, const Launch& launch);
  // When a soak starts to count; notes its equilibrium.
  double soak_from_s(double end_s);
  // Ends the telemetry window. mostly_rest: drops averages over the window.
  void take_conditions(bool mostly_rest = false);
  // Call after the value is known. clock_hz: nullopt if unreadable.
  void take_clock(std::optional<double> clock_hz, ClockSource source = ClockSource::kProbe);
  void remark_if_unheld();
  void read_pcie_link(const Launch& launch, double launch_s);

  CudaSession& session_;
  std::function<void()> load_begins_ = [] {};
};

}  // namespace peakline::bench

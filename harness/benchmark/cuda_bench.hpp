#pragma once

// What a GPU benchmark function gets. See bench.hpp for what it shares with the host's.

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/benchmark/candidate_search.hpp"
#include "harness/benchmark/load.hpp"
#include "harness/benchmark/trains.hpp"
#include "harness/core/facts.hpp"
#include "harness/cuda/nvml.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/cuda/telemetry.hpp"

namespace peakline::bench {

// One thread that spins for a moment and stamps the SM clock.
void launch_clock_probe(cudaStream_t stream, cuda::ClockStamp* stamp);

// What outlives a point in a GPU worker.
struct CudaSession {
  // nvml: nullptr where there is none; must outlive this object.
  CudaSession(const cuda::Nvml* nvml, const RunOptions& options);

  const cuda::Nvml* nvml;
  DeviceFacts facts;  // what NVML knows of the device, completed by what CUDA does
  cuda::Sampler sampler;
  cuda::Telemetry telemetry;
  LoadRunner loads{sampler};
};

class CudaBench : public Bench {
 public:
  using Launch = cuda::Launch;

  CudaBench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
            WorkerCache& cache, CudaSession& session);

  const DeviceFacts& device() const { return session_.facts; }
  cuda::Sampler& sampler() const { return session_.sampler; }
  LoadRunner& loads() const { return session_.loads; }
  cudaStream_t stream() const { return session_.sampler.stream(); }
  cuda::ClockStamp* stamp() const { return session_.sampler.device_stamp(); }
  unsigned sm_count() const { return static_cast<unsigned>(*session_.facts.sm_count); }

  // `bytes`, or what is free of the device's memory if that is less, in whole multiples of
  // `granule`, with a remark that says so. Skips the point where not even one granule is free.
  std::size_t fit_memory(std::size_t bytes, std::size_t granule);
  // The same with no remark, for work that is not what the point measures.
  std::size_t fitting_memory(std::size_t bytes, std::size_t granule) const;

  // The launch once, to be looked at by verify(); waits for it. Returns its seconds by the host's
  // clock.
  double launch_once(const Launch& launch);

  // Seconds of one launch, to size the real one by; clocks are up.
  double time_roughly(const Launch& launch);

  // Measures it by the rule of the point: curve and full as unbroken sampling, burst as trains from
  // rest, sustained as unbroken load. Fills the record. The launch must only enqueue.
  void measure(const Work& work, const Launch& launch);

  // Brief trains from rest in which `before` comes ahead of each launch, which is timed alone. The
  // value is the median of the trains' means.
  void measure_interleaved(const Work& work, const Launch& launch, const Launch& before);

  // The same as measure() for work that the host's clock has to time: `call` returns when it is
  // done (or, for the cost of a call, when the call is). `between` runs outside the timing, after
  // each sample. calls: per sample; 0: as many as make a sample long enough for the clock.
  void measure_on_host(const Work& work, const std::function<void()>& call, std::int64_t calls = 0,
                       const std::function<void()>& between = {});

  // What one launch adds between two events, over two events with nothing between them: seconds by
  // events, for work shorter than their jitter. Throws std::runtime_error where it adds nothing.
  void measure_difference(const Work& work, const Launch& launch);

  // The index of the candidate of the least cost among `count`, with their number noted. Throws
  // std::invalid_argument where there is none.
  std::size_t search(std::size_t count, const std::function<Launch(std::size_t)>& launch_of,
                     double seconds, const SearchCost& cost = {});
  // All of them, the best first; notes nothing.
  std::vector<std::size_t> rank(std::size_t count,
                                const std::function<Launch(std::size_t)>& launch_of, double seconds,
                                const SearchCost& cost = {});

 private:
  void measure_sampled(const Work& work, const Launch& launch);
  void measure_burst(const Work& work, const Launch& launch);
  void measure_load(const Work& work, const Launch& launch);
  // From when on the load counts; notes the equilibrium of a soak.
  double settled_load_from_s(double end_s);
  // Ends the window of the telemetry. mostly_rest: averages over it say nothing of the work.
  void take_conditions(bool mostly_rest = false);
  void take_clock(std::optional<double> clock_hz, const Launch& launch);
  void remark_if_unheld();
  void read_pcie_link(const Launch& launch, double launch_s);

  CudaSession& session_;
};

// The points of a benchmark whose rate depends on power: load:burst and load:sustained.
std::vector<Point> load_points();

// The one point of a benchmark that is measured from rest, and quickly: one of many instructions.
Point brief_burst_point(bool quick);

}  // namespace peakline::bench

#pragma once

// What a GPU benchmark function gets. See bench.hpp for what it shares with the host's.

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/core/facts.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/cuda/telemetry.hpp"

namespace peakline::bench {

// One thread that spins for a moment and stamps the SM clock.
void launch_clock_probe(cudaStream_t stream, cuda::ClockStamp* stamp);

// What outlives a point in a GPU worker.
struct CudaSession {
  explicit CudaSession(const cuda::Nvml* nvml);

  DeviceFacts facts;
  cuda::Sampler sampler;
  cuda::Telemetry telemetry;
  // The load without a longer pause that the last points made together.
  double load_start_s = 0, load_end_s = 0;
};

// What the sampler has to know of a launch.
struct LaunchShape {
  bool stamps = false;          // the kernel stamps the SM clock itself
  std::int64_t operations = 1;  // that one launch enqueues
};

// What a search compares.
struct SearchCost {
  // The work of candidate i, where it differs between them: the highest rate wins.
  std::function<double(std::size_t)> work_of = {};
  // For work bound by the SM clock.
  bool in_cycles = false;
};

class CudaBench : public Bench {
 public:
  using Launch = cuda::Launch;

  CudaBench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
            Memory& memory, CudaSession& session);

  const DeviceFacts& device() const { return session_.facts; }
  cudaStream_t stream() const { return session_.sampler.stream(); }
  cuda::ClockStamp* stamp() const { return session_.sampler.device_stamp(); }
  unsigned sm_count() const { return static_cast<unsigned>(*session_.facts.sm_count); }

  // `bytes`, or what is free of the device's memory if that is less, in whole multiples of
  // `granule`, with a remark that says so. Skips the point where not even one granule is free.
  std::size_t fit_memory(std::size_t bytes, std::size_t granule);

  // The launch once, to be looked at by verify(); waits for it. Returns its seconds by the host's
  // clock.
  double launch_once(const Launch& launch);

  // Seconds of one launch, to size the real one by; clocks are up.
  double time_roughly(const Launch& launch);

  // Median seconds of one launch over so many trains from rest: a short look at what
  // a burst would give.
  double time_trains(const Launch& launch, int trains, double rest_s);

  // The same over one train, shorter and after less rest: for dozens of candidates.
  double time_short_train(const Launch& launch);

  // Median seconds of one launch over the second half of so many seconds of unbroken load: a short
  // look at what sustained would give.
  double time_loaded(const Launch& launch, double seconds);

  // Mean seconds of one launch over one train of those that measure_apart() takes.
  double time_apart(const Launch& launch, const Launch& before);

  // Measures it by the rule of the point: curve and full as unbroken sampling, burst as trains from
  // rest, sustained as unbroken load. Fills the record. The launch must only enqueue.
  void measure(const Work& work, const Launch& launch, const LaunchShape& shape = {});

  // Trains from rest in which `before` comes ahead of each launch, which is timed alone: 50
  // launches that do not count and 100 that do. The value is the median of the trains' means.
  void measure_apart(const Work& work, const Launch& launch, const Launch& before);

  // The same for work that the host's clock has to time: `call` returns when it is done (or, for
  // the cost of a call, when the call is). `between` runs outside the timing, after each sample.
  // calls: per sample; 0: as many as make a sample long enough for the clock.
  void measure_on_host(const Work& work, const std::function<void()>& call, std::int64_t calls = 0,
                       const std::function<void()>& between = {});

  // What one launch adds between two events, over two events with nothing between them: seconds by
  // events, for work shorter than their jitter. Throws std::runtime_error where it adds nothing.
  void measure_difference(const Work& work, const Launch& launch);

  // The index of the candidate of the least cost among `count`. `launch_of(i)` returns an empty
  // function where candidate i cannot run. Under --profile: the first that can run.
  std::size_t search(std::size_t count, const std::function<Launch(std::size_t)>& launch_of,
                     double seconds, const SearchCost& cost = {});
  // The same, with all candidates that can run, the best first; puts nothing into the record.
  std::vector<std::size_t> rank(std::size_t count,
                                const std::function<Launch(std::size_t)>& launch_of, double seconds,
                                const SearchCost& cost = {});

  // Puts the PCIe link, as it is while the next measurement moves data, into the conditions.
  void watch_pcie_link() { watch_pcie_link_ = true; }

 private:
  // Each returns the SM clock that was observed, if it was.
  std::int64_t train_launches(double launch_s) const;
  std::optional<double> measure_sampled(const Work& work, const Launch& launch);
  std::optional<double> measure_burst(const Work& work, const Launch& launch, bool stamps);
  void note_clock(std::vector<double>& clocks_hz) const;
  std::optional<double> measure_load(const Work& work, const Launch& launch);
  // How long the card has been under load, up to now.
  double loaded_s() const;
  // Short intervals at first; keeps account of it in the session.
  std::vector<cuda::Sampler::Interval> load(const Launch& launch, double launch_s, double seconds);
  void measure_once(const Work& work, const Launch& launch);
  double time_train_apart(const Launch& launch, const Launch& before);
  void take_conditions();
  void read_pcie_link(const Launch& launch, double launch_s);

  CudaSession& session_;
  bool watch_pcie_link_ = false;
};

// The points of a benchmark whose rate depends on power: load:burst and load:sustained.
std::vector<Point> load_points();

// The one point of a benchmark that is measured from rest, and quickly: one of many instructions.
Point brief_burst_point(bool quick);

}  // namespace peakline::bench

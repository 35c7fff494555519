#pragma once

// A benchmark function gets the parameters of its point, and the calls to state its work, verify
// its result and measure it. Bench is common to host and device; HostBench (host_bench.hpp) and
// CudaBench (cuda_bench.hpp) measure.

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/benchmark/round.hpp"
#include "harness/statistics/sampling.hpp"
#include "harness/values/measurement.hpp"

namespace peakline::bench {

struct RunOptions {
  bool quick = false;
  double max_noise = 0.005;  // relative half width of the interval at which sampling stops
  std::size_t min_samples = kMinSamples;  // of the full rule, in all sittings
  std::uint64_t seed = 1;
  bool verify = true;
  double soak_s = 0;  // seconds of unbroken load at the end; 0: none
  // Whether as many seconds of load follow, of which every result is compared.
  bool verified_soak = false;
  double verified_soak_s() const { return verified_soak ? soak_s : 0; }
  // The file of incompressible data that is read, open in every worker; -1: none.
  int storage_descriptor = -1;
  // Launch each point once and hold no stream: under ncu, nsys and compute-sanitizer a held stream
  // stalls, and repeated launches only cost time.
  bool profile = false;
  // Both are of the node, by index: the GPUs that the run is about, and those in a worker's
  // CUDA_VISIBLE_DEVICES, in its order.
  std::vector<int> gpus = {}, visible_gpus = {};
  bool alone = false;  // every point by itself, also where it has a round
};

// Thrown to skip a point that the hardware or the machine cannot run; not a failure.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Thrown when a result differs from its reference: the point becomes an error, never a figure.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A worker keeps these between points (search winners, buffers), by name, with the notes and
// remarks from making them.
struct Remembered {
  std::any value;
  LaunchFacts notes = {};
  std::string remarks = {};
};
using WorkerCache = std::map<std::string, Remembered>;

class Bench {
 public:
  // round: with what it is measured at the same time; nullptr: alone.
  Bench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
        WorkerCache& cache, RoundMember* round = nullptr);
  virtual ~Bench() = default;

  const RunOptions& options() const { return options_; }
  Rule rule() const { return point_.rule; }
  std::uint64_t seed() const { return options_.seed; }

  // Parameters of this point; std::logic_error if the benchmark does not declare it.
  std::int64_t integer(std::string_view name) const;
  std::string text(std::string_view name) const;
  // nullopt if this point has no such parameter.
  std::optional<std::string> find_text(std::string_view name) const {
    return text_param(point_.params, name);
  }

  // The record being filled.
  Measurement& record() { return record_; }
  // Records what was launched or found: "grid", "unroll", "algorithm". Replaces an earlier note of
  // that name.
  void note(std::string_view name, ParamValue value);
  // A remark on a measurement that is ok; repeating one has no effect.
  void remark(const std::string& text);

  // Runs the check unless --no-verify. The check returns what is wrong, or "" if nothing is. Throws
  // WrongResult.
  void verify(const std::function<std::string()>& find_mismatch);

  // The value that `make` returns for this name; made once per worker. The notes and remarks of
  // `make` go into the record of every point that asks for the value.
  template <class T>
  const T& remember(const std::string& name, const std::function<T()>& make) {
    return std::any_cast<const T&>(recall(name, [&] { return std::any(make()); }));
  }

 protected:
  // The sampling rule of this point, which is curve or full; max_noise and min_samples come from
  // the options.
  SamplingRule sampling_rule() const;
  // Puts samples, summary, value and unit into the record.
  void finish(const Work& work, const Sampling& sampling, std::int64_t launches_per_sample);
  // The seconds of each of many calls, for as long as the point's load lasts; at least one. before:
  // untimed, ahead of each call.
  std::vector<double> seconds_of_calls(const std::function<void()>& call,
                                       const std::function<void()>& before = {}) const;
  // Finishes a point whose blocks are all there is (trains, intervals), in seconds per launch.
  void finish_blocks(const Work& work, std::vector<double> blocks,
                     std::int64_t launches_per_sample);
  // The measurement's value for this work in this time, in the benchmark's unit.
  double value_of(const Work& work, double time_s) const;

  const std::any& recall(const std::string& name, const std::function<std::any()>& make);

  // From here on, timing happens together with the other points of the round. Skips a point that
  // says nothing without them.
  void begin_round();

  const Benchmark& benchmark_;
  const Point& point_;
  const RunOptions& options_;
  WorkerCache& cache_;
  Measurement record_;
  RoundMember* const round_;
};

}  // namespace peakline::bench

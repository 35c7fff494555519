#pragma once

// A benchmark function states its work, verifies its result and measures it through a Bench:
// HostBench (host_bench.hpp) or CudaBench (cuda_bench.hpp).

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
  double max_noise = 0.005;               // relative half width of the interval that suffices
  std::size_t min_samples = kMinSamples;  // full timing, over all sittings
  std::uint64_t seed = 1;
  bool verify = true;
  double soak_s = 0;  // seconds of unbroken load at the end; 0: none
  // Add a soak of equal length that compares every result.
  bool verified_soak = false;
  double verified_soak_s() const { return verified_soak ? soak_s : 0; }
  bool energy = false;  // add loads of seconds that show what energy they take
  // An incompressible file to read, inherited by workers; -1: none.
  int storage_descriptor = -1;
  // For ncu, nsys and compute-sanitizer, under which a held stream stalls: single launches.
  bool profile = false;
  // The node's GPUs in this run, and those in a worker's CUDA_VISIBLE_DEVICES, by index.
  std::vector<int> gpus = {}, visible_gpus = {};
  bool alone = false;  // ignore rounds

  bool operator==(const RunOptions&) const = default;
};

// Thrown to skip a point that the machine cannot run; not a failure.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Thrown for a result that differs from its reference: the point becomes an error.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A value that a worker keeps between points, with notes and remarks from making it.
struct Remembered {
  std::any value;
  LaunchFacts notes = {};
  std::string remarks = {};
};
using WorkerCache = std::map<std::string, Remembered>;

class Bench {
 public:
  // round: the points measured together with this one; nullptr: none.
  Bench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
        WorkerCache& cache, RoundMember* round = nullptr);
  virtual ~Bench() = default;

  const RunOptions& options() const { return options_; }
  Timing timing() const { return point_.timing; }
  std::uint64_t seed() const { return options_.seed; }

  // Parameters of this point. Throw std::logic_error for undeclared ones.
  std::int64_t integer(std::string_view name) const;
  std::string text(std::string_view name) const;
  // nullopt if the point has no such parameter.
  std::optional<std::string> find_text(std::string_view name) const {
    return text_param(point_.params, name);
  }

  Measurement& record() { return record_; }
  // Records a choice or finding ("grid", "algorithm"); replaces an earlier note of that name.
  void note(std::string_view name, ParamValue value);
  // Adds a remark to an ok measurement, once.
  void remark(const std::string& text);

  // Runs a check, which returns a mismatch or "", unless --no-verify. Throws WrongResult.
  void verify(const std::function<std::string()>& find_mismatch);

  // The value of `make`, called once per worker and name; each point gets its notes and remarks.
  template <class T>
  const T& remember(const std::string& name, const std::function<T()>& make) {
    return std::any_cast<const T&>(recall(name, [&] { return std::any(make()); }));
  }

 protected:
  // The point's curve or full timing, adjusted by max_noise and min_samples of the options.
  SamplingRule sampling_rule() const;
  // Records samples, summary, value and unit.
  void finish(const Work& work, const Sampling& sampling, std::int64_t launches_per_sample);
  // Seconds per call while the point's load lasts, at least one. before: untimed.
  std::vector<double> seconds_of_calls(const std::function<void()>& call,
                                       const std::function<void()>& before) const;
  // Finishes a point from blocks without samples (trains, intervals), in seconds per launch.
  void finish_blocks(const Work& work, std::vector<double> blocks,
                     std::int64_t launches_per_sample);
  // The benchmark's value for this work and time.
  double value_of(const Work& work, double time_s) const;

  const std::any& recall(const std::string& name, const std::function<std::any()>& make);

  // Starts timing together with the round. Skips the point if it is useless without the others.
  void begin_round();

  const Benchmark& benchmark_;
  const Point& point_;
  const RunOptions& options_;
  WorkerCache& cache_;
  Measurement record_;
  RoundMember* const round_;
};

}  // namespace peakline::bench

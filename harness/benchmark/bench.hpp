#pragma once

// What a benchmark function gets: the parameters of its point, and the means to say what work it
// does, to verify its result and to have it measured. Bench is what host and device have in common;
// HostBench (host_bench.hpp) and CudaBench (cuda_bench.hpp) measure.

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/core/measurement.hpp"
#include "harness/core/statistics.hpp"

namespace peakline::bench {

struct RunOptions {
  bool quick = false;
  double max_noise = 0.005;      // relative half width of the interval that is enough
  std::size_t min_samples = 40;  // of the full rule
  std::uint64_t seed = 1;
  bool verify = true;
  double soak_s = 0;  // of unbroken load at the end; 0: none
  // Launch each point once, with no blocked stream: for ncu, nsys and compute-sanitizer, under
  // which a held stream stalls and repeated launches only cost time.
  bool profile = false;
};

// Thrown to end a point: the hardware or the machine cannot do it, which is no failure.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Thrown where a result differs from its reference: the point is an error, never a figure.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a worker keeps from point to point (search winners, buffers), by name, with what was noted
// while it was made.
struct Remembered {
  std::any value;
  LaunchFacts notes = {};
  std::string remarks = {};
};
using WorkerCache = std::map<std::string, Remembered>;

class Bench {
 public:
  Bench(const Benchmark& benchmark, const Point& point, const RunOptions& options,
        WorkerCache& cache);
  virtual ~Bench() = default;

  const RunOptions& options() const { return options_; }
  Rule rule() const { return point_.rule; }
  std::uint64_t seed() const { return options_.seed; }

  // Parameters of this point; std::logic_error where the benchmark declares no such one.
  std::int64_t integer(std::string_view name) const;
  std::string text(std::string_view name) const;
  // nullopt where this point has no such parameter.
  std::optional<std::string> find_text(std::string_view name) const {
    return text_param(point_.params, name);
  }

  // The record being filled.
  Measurement& record() { return record_; }
  // Records what was launched or found: "grid", "unroll", "algorithm". Replaces an earlier note of
  // that name.
  void note(std::string_view name, ParamValue value);
  // A remark that stays with an ok measurement; said twice, it is kept once.
  void remark(const std::string& text);

  // Runs the check unless --no-verify; it says what is wrong, or "" where all is right. Throws
  // WrongResult.
  void verify(const std::function<std::string()>& find_mismatch);

  // The value made by `make` for this name, made once per worker. What `make` notes and remarks
  // goes into the record of every point that asks for the value.
  template <class T>
  const T& remember(const std::string& name, const std::function<T()>& make) {
    return std::any_cast<const T&>(recall(name, [&] { return std::any(make()); }));
  }

 protected:
  // The sampling rule of this point for curve and full; max_noise and min_samples from the options.
  SamplingRule sampling_rule() const;
  // Puts samples, summary, value and unit into the record.
  void finish(const Work& work, const Sampling& sampling, std::int64_t launches_per_sample);
  // The same where the blocks are all there is to say (trains, intervals), seconds a launch.
  void finish_blocks(const Work& work, std::vector<double> blocks,
                     std::int64_t launches_per_sample);
  // The measurement's value for this work in this time, in its unit.
  double value_of(const Work& work, double time_s) const;

  const std::any& recall(const std::string& name, const std::function<std::any()>& make);

  const Benchmark& benchmark_;
  const Point& point_;
  const RunOptions& options_;
  WorkerCache& cache_;
  Measurement record_;
};

}  // namespace peakline::bench

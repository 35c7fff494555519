#pragma once

// The benchmarks and their parameter sweeps. Google Benchmark holds what can be run; this keeps,
// for each of its entries, what the plan, `list` and the profile need to know about it.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/measurement.hpp"

namespace peakline::bench {

class Bench;

// What a point loads, which decides when it runs and next to what. In the order of a run.
enum class Phase {
  kHost,       // the host alone
  kLink,       // host link and launches: one device at a time
  kDevice,     // memory, latencies: devices in parallel
  kBurst,      // compute from rest
  kSustained,  // power-limited load: late, since a hot, capped card spoils what follows
  kWarm,       // curves that compare points with one another, per clock
  kSoak,       // minutes of load
};

// How a point is sampled.
enum class Rule {
  kCurve,      // >= 7 samples, <= 100 ms
  kFull,       // 20 uncorrelated blocks, until precise or out of time
  kBurst,      // short trains from rest
  kBrief,      // few of them, after less rest
  kSustained,  // the end of an unbroken load
  kLoaded,     // the end of a short one: one of many
  kSoak,       // from thermal equilibrium on, of a load as long as the user asks for
};

struct Point {
  Params params;
  Phase phase = Phase::kDevice;
  Rule rule = Rule::kCurve;
  bool quick = false;    // also part of --quick
  double seconds = 0.2;  // what it takes, roughly: for --dry-run and the time left
};

struct Benchmark {
  std::string id;
  std::string what;  // one line: the question it answers
  std::string work;  // one line: how bytes, FLOPs or seconds are counted
  Quantity quantity = Quantity::kTime;
  int method_version = 1;
  std::vector<Point> points;
};

class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;  // Google Benchmark's entries refer to this object
  Registry& operator=(const Registry&) = delete;

  // Registers every point with Google Benchmark, to be run by name. Throws std::logic_error where a
  // name is taken already.
  void add(Benchmark benchmark, const std::function<void(Bench&)>& run);

  const std::vector<Benchmark>& benchmarks() const { return benchmarks_; }
  // The point's benchmark and the point; nullptrs where the name is unknown.
  std::pair<const Benchmark*, const Point*> find(const std::string& name) const;

  // Called for every point that Google Benchmark runs; the worker sets it. It has to run the
  // function on a Bench of the right kind and return the median time in seconds.
  using Runner =
      std::function<double(const Benchmark&, const Point&, const std::function<void(Bench&)>&)>;
  void set_runner(Runner runner) { runner_ = std::move(runner); }

 private:
  std::vector<Benchmark> benchmarks_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> index_;  // name -> benchmark, point
  Runner runner_;
};

// Fills a registry with every benchmark there is. threads: what the host may use; soak_s: how long
// the soak lasts, 0: there is none.
using Catalog = void (*)(Registry& registry, int threads, double soak_s);

}  // namespace peakline::bench

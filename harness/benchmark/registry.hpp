#pragma once

// The benchmarks and how to run them: the one list of what there is to measure.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/core/benchmark.hpp"

namespace peakline::bench {

class HostBench;
class CudaBench;

// What measures one point, on the kind of device that it is for.
using Run = std::variant<std::function<void(HostBench&)>, std::function<void(CudaBench&)>>;

// One point with all that belongs to it.
struct Entry {
  const Benchmark* benchmark = nullptr;
  const Point* point = nullptr;
  const Run* run = nullptr;
};

class Registry {
 public:
  // Throws std::logic_error where a point's name is taken already, and for a registration that says
  // neither what limits it physically nor that nothing does.
  void add(Benchmark benchmark, Run run);

  // In the order in which they were added.
  Benchmarks benchmarks() const { return benchmarks_; }
  // The point of that name; nullptrs where there is none.
  Entry find(const std::string& name) const;

 private:
  std::vector<Benchmark> benchmarks_;
  std::vector<Run> runs_;                                             // of each of them
  std::map<std::string, std::pair<std::size_t, std::size_t>> index_;  // name -> benchmark, point
};

// Fills a registry with every benchmark there is. threads: what the host may use; soak_s: how long
// the soak lasts, 0: there is none.
using Catalog = void (*)(Registry& registry, int threads, double soak_s);

}  // namespace peakline::bench

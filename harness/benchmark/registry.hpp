#pragma once

// The benchmarks and how to run them: the one list of everything that can be measured.

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

// The function that measures one point, for the host or for a GPU.
using Run = std::variant<std::function<void(HostBench&)>, std::function<void(CudaBench&)>>;

// One point, its benchmark and its function.
struct Entry {
  const Benchmark* benchmark = nullptr;
  const Point* point = nullptr;
  const Run* run = nullptr;
};

class Registry {
 public:
  // Throws std::logic_error if a point's name is taken, or if the registration states neither a
  // physical limit nor why there is none.
  void add(Benchmark benchmark, Run run);
  // Areas ("hbm") of benchmarks that this build is without.
  void leave_out(std::vector<std::string> areas) { left_out_ = std::move(areas); }

  // In registration order.
  Benchmarks benchmarks() const { return benchmarks_; }
  const std::vector<std::string>& left_out() const { return left_out_; }
  // The point of that name; all pointers are null if there is none.
  Entry find(const std::string& name) const;

 private:
  std::vector<Benchmark> benchmarks_;
  std::vector<std::string> left_out_;
  std::vector<Run> runs_;                                             // one per benchmark
  std::map<std::string, std::pair<std::size_t, std::size_t>> index_;  // name -> benchmark, point
};

// Fills a registry with every benchmark. threads: how many the host may use. soak_s: how long the
// soak lasts; 0: no soak.
using Catalog = void (*)(Registry& registry, int threads, double soak_s);

}  // namespace peakline::bench

#pragma once

// The benchmarks and how to run them: the one list of everything that can be measured.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

class HostBench;
class CudaBench;
class NodeBench;

// The function that measures one point, for the host, for a GPU or for several.
using Run = std::variant<std::function<void(HostBench&)>, std::function<void(CudaBench&)>,
                         std::function<void(NodeBench&)>>;

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

  // Returns them in registration order.
  Benchmarks benchmarks() const { return benchmarks_; }
  const std::vector<std::string>& left_out() const { return left_out_; }
  // The point of that name; all pointers are null if there is none.
  Entry find(const std::string& name) const;
  // The entries that are measured at the same time as that one, which comes first.
  std::vector<Entry> round_of(const Entry& entry) const;

 private:
  std::vector<Benchmark> benchmarks_;
  std::vector<std::string> left_out_;
  std::vector<Run> runs_;                                             // one per benchmark
  std::map<std::string, std::pair<std::size_t, std::size_t>> index_;  // name -> benchmark, point
};

// The points of benchmarks depend on these.
struct CatalogInput {
  int threads = 1;                 // that the host may use
  double soak_s = 0;               // how long the soak lasts; 0: no soak
  std::vector<int> gpus = {0, 1};  // of the node: by index, at least two
};

// Fills a registry with every benchmark.
using Catalog = void (*)(Registry& registry, const CatalogInput& input);

}  // namespace peakline::bench

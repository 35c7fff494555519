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

// Wraps the function that measures a point on a GPU, or on several: `call` takes the CudaBench (the
// NodeBench). It is instantiated only where there is CUDA, so that a registration compiles in every
// build, and the functions that it names are needed only where they exist.
template <class Call>
Run on_gpu([[maybe_unused]] Call call) {
#ifdef PEAKLINE_HAS_CUDA
  return std::function<void(CudaBench&)>(std::move(call));
#else
  return std::function<void(CudaBench&)>();
#endif
}
template <class Call>
Run on_node([[maybe_unused]] Call call) {
#ifdef PEAKLINE_HAS_CUDA
  return std::function<void(NodeBench&)>(std::move(call));
#else
  return std::function<void(NodeBench&)>();
#endif
}

// One point, its benchmark and its function.
struct Entry {
  const Benchmark* benchmark = nullptr;
  const Point* point = nullptr;
  const Run* run = nullptr;
};

class Registry {
 public:
  // Throws std::logic_error if a point's name is taken, or if the registration of a rate states
  // neither a physical limit nor why there is none. A time has no upper limit.
  void add(Benchmark benchmark, Run run);

  // Returns them in registration order.
  Benchmarks benchmarks() const { return benchmarks_; }
  // The point of that name; all pointers are null if there is none.
  Entry find(const std::string& name) const;
  // The entries that are measured at the same time as that one, which comes first.
  std::vector<Entry> round_of(const Entry& entry) const;
  // Whether any benchmark is measured on a GPU.
  bool needs_gpu() const;

 private:
  std::vector<Benchmark> benchmarks_;
  std::vector<Run> runs_;                                             // one per benchmark
  std::map<std::string, std::pair<std::size_t, std::size_t>> index_;  // name -> benchmark, point
};

// The points of benchmarks depend on these.
struct CatalogInput {
  int threads = 1;                 // that the host may use
  double soak_s = 0;               // how long the soak lasts; 0: no soak
  double verified_soak_s = 0;      // and the verifying one after it
  bool storage = false;            // there is a file to read
  std::vector<int> gpus = {0, 1};  // of the node: by index, at least two
};

// Fills a registry with every benchmark.
using Catalog = void (*)(Registry& registry, const CatalogInput& input);

}  // namespace peakline::bench

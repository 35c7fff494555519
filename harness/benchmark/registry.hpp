#pragma once

// The benchmarks and how to run them: everything that can be measured.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/conclude/benchmark.hpp"

namespace peakline::bench {

class HostBench;
class CudaBench;
class NodeBench;

// Measures one point on the host, a GPU, or several.
using Run = std::variant<std::function<void(HostBench&)>, std::function<void(CudaBench&)>,
                         std::function<void(NodeBench&)>>;

// Wraps a function that takes a CudaBench or NodeBench. Instantiated only with CUDA: registrations
// compile in every build, without the functions that they name.
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

struct Entry {
  const Benchmark* benchmark = nullptr;
  const Point* point = nullptr;
  const Run* run = nullptr;
};

class Registry {
 public:
  // Throws std::logic_error if a point's name is taken, or a rate has neither a physical limit nor
  // a reason for none. Times have no upper limit.
  void add(Benchmark benchmark, Run run);

  Benchmarks benchmarks() const { return benchmarks_; }
  // The point of that name; pointers are null without one.
  Entry find(const std::string& name) const;
  // The entries measured together with this one, which comes first.
  std::vector<Entry> round_of(const Entry& entry) const;
  bool needs_gpu() const;

 private:
  std::vector<Benchmark> benchmarks_;
  std::vector<Run> runs_;                                             // one per benchmark
  std::map<std::string, std::pair<std::size_t, std::size_t>> index_;  // name -> benchmark, point
};

struct CatalogInput {
  int threads = 1;                 // usable on the host
  double soak_s = 0;               // duration of the soak; 0: none
  double verified_soak_s = 0;      // likewise, of the verifying soak after it
  bool energy = false;             // loads of seconds that show what energy they take
  bool storage = false;            // there is a file to read
  std::vector<int> gpus = {0, 1};  // of the node, by index, at least two
};

using Catalog = void (*)(Registry& registry, const CatalogInput& input);

}  // namespace peakline::bench

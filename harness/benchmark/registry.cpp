#include "harness/benchmark/registry.hpp"

#include <benchmark/benchmark.h>

#include <stdexcept>

namespace peakline::bench {

void Registry::add(Benchmark benchmark, const std::function<void(Bench&)>& run) {
  const std::size_t index = benchmarks_.size();
  benchmarks_.push_back(std::move(benchmark));
  const std::size_t points = benchmarks_[index].points.size();
  for (std::size_t point = 0; point < points; ++point) {
    const std::string name =
        point_name(benchmarks_[index].id, benchmarks_[index].points[point].params);
    if (!index_.emplace(name, std::pair(index, point)).second)
      throw std::logic_error("registered twice: " + name);
    ::benchmark::RegisterBenchmark(
        name.c_str(),
        [this, index, point, run](::benchmark::State& state) {
          const Benchmark& described = benchmarks_[index];
          for (auto _ : state)
            state.SetIterationTime(runner_(described, described.points[point], run));
        })
        ->Iterations(1)
        ->UseManualTime();
  }
}

std::pair<const Benchmark*, const Point*> Registry::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return {nullptr, nullptr};
  const Benchmark& benchmark = benchmarks_[found->second.first];
  return {&benchmark, &benchmark.points[found->second.second]};
}

}  // namespace peakline::bench

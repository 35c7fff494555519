#include "harness/benchmark/registry.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/conclude/limits.hpp"

namespace peakline::bench {

void Registry::add(Benchmark benchmark, Run run) {
  if (benchmark.quantity == Quantity::kTime && !benchmark.limit.of)
    if (benchmark.limit.why_none.empty()) benchmark.limit = no_limit("a time has no upper limit");
  if (!benchmark.limit.of && benchmark.limit.why_none.empty())
    throw std::logic_error(benchmark.id +
                           ": states neither a physical limit nor why there is none");
  const std::size_t index = benchmarks_.size();
  for (std::size_t point = 0; point < benchmark.points.size(); ++point) {
    const std::string name = point_name(benchmark.id, benchmark.points[point].params);
    if (!index_.emplace(name, std::pair(index, point)).second)
      throw std::logic_error("registered twice: " + name);
  }
  benchmarks_.push_back(std::move(benchmark));
  runs_.push_back(std::move(run));
}

Entry Registry::find(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return {};
  const auto [index, point] = found->second;
  return {&benchmarks_[index], &benchmarks_[index].points[point], &runs_[index]};
}

bool Registry::needs_gpu() const {
  return std::ranges::any_of(runs_, [](const Run& run) {
    return !std::holds_alternative<std::function<void(HostBench&)>>(run);
  });
}

std::vector<Entry> Registry::round_of(const Entry& entry) const {
  std::vector<Entry> members = {entry};
  for (const Point* point : peakline::round_of(*entry.benchmark, *entry.point))
    if (point != entry.point) members.push_back({entry.benchmark, point, entry.run});
  return members;
}

}  // namespace peakline::bench

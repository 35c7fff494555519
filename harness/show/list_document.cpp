#include <algorithm>

#include "harness/show/json_document.hpp"
#include "harness/show/show.hpp"

namespace peakline {
namespace {

json encode(const Point& point) {
  return {{"params", object(point.params)}, {"quick", point.quick}, {"seconds", point.seconds}};
}

json encode(const Benchmark& benchmark) {
  return {{"id", benchmark.id},
          {"what", benchmark.what},
          {"work", benchmark.work},
          {"unit", unit_of(benchmark.quantity)},
          {"device", measured_on(benchmark)},
          {"method_version", benchmark.method_version},
          {"never_run", benchmark.never_run},
          {"points", array_of(benchmark.points, [](const Point& p) { return encode(p); })}};
}

}  // namespace

std::string_view measured_on(const Benchmark& benchmark) {
  if (std::ranges::any_of(benchmark.points, is_node_point)) return kNodeDevice;
  return benchmark.loads == Loads::kHost ? kHostDevice : "gpu";
}

std::string list_json(Benchmarks benchmarks) {
  return rows_document("peakline-catalog", 1, "benchmarks", benchmarks,
                       [](const Benchmark& benchmark) { return encode(benchmark); });
}

}  // namespace peakline

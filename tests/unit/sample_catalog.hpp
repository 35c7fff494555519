#pragma once

// All benchmarks, for tests of conclusions; nothing is launched.

#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/catalog.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/values/profile.hpp"

namespace peakline::sample {

inline Benchmarks benchmarks() {
  static const bench::Registry kRegistry = [] {
    bench::Registry registry;
    bench::register_all(registry,
                        {.threads = 192, .soak_s = 60, .verified_soak_s = 60, .energy = true});
    return registry;
  }();
  return kRegistry.benchmarks();
}

// The catalogue that a run of the profile's machine had.
inline bench::Registry catalog_of(const Profile& profile) {
  bench::CatalogInput input{.threads = profile.host.usable_threads.value_or(1), .energy = true};
  if (profile.devices.size() > 1) {
    input.gpus.clear();
    for (const DeviceFacts& device : profile.devices) input.gpus.push_back(device.index);
  }
  bench::Registry registry;
  bench::register_all(registry, input);
  return registry;
}

// The first rule of a registered benchmark.
inline const CurveRule& rule_of(std::string_view id) {
  const Benchmark* benchmark = find_benchmark(benchmarks(), id);
  if (benchmark == nullptr) throw std::out_of_range("no benchmark " + std::string(id));
  return benchmark->curves.at(0);
}

}  // namespace peakline::sample

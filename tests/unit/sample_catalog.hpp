#pragma once

// All benchmarks, for tests of conclusions; nothing is launched.

#include "bench/catalog.hpp"
#include "harness/benchmark/registry.hpp"

namespace peakline::sample {

inline Benchmarks benchmarks() {
  static const bench::Registry kRegistry = [] {
    bench::Registry registry;
    bench::register_all(registry, {.threads = 192, .soak_s = 60, .verified_soak_s = 60});
    return registry;
  }();
  return kRegistry.benchmarks();
}

}  // namespace peakline::sample

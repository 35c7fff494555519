#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "bench/catalog.hpp"
#include "harness/benchmark/cuda_bench.hpp"

namespace peakline {

// Measures points of the catalogue by name.
class Points : public testing::Test {
 protected:
  explicit Points(const bench::CatalogInput& input = {}) { bench::register_all(registry_, input); }

  // Throws bench::Skipped.
  Measurement run(const std::string& name) {
    const bench::Entry entry = registry_.find(name);
    bench::CudaBench bench(*entry.benchmark, *entry.point, options_, cache_, session_);
    std::get<std::function<void(bench::CudaBench&)>> (*entry.run)(bench);
    return bench.record();
  }
  // nullopt if the point is skipped.
  std::optional<Measurement> measured(const std::string& name) {
    try {
      return run(name);
    } catch (const bench::Skipped&) {
      return std::nullopt;
    }
  }
  // The device, with a maximum clock of at least the measurement's.
  DeviceFacts at_clock_of(const Measurement& m) const {
    DeviceFacts device = session_.facts;
    if (m.conditions.sm_clock_hz > device.sm_clock_max_hz)
      device.sm_clock_seen_max_hz = m.conditions.sm_clock_hz;
    return device;
  }
  double value(const std::string& name) { return measured(name).value().value.value(); }

  bench::Registry registry_;
  bench::RunOptions options_;
  bench::WorkerCache cache_;
  bench::CudaSession session_{nullptr, options_};
};

}  // namespace peakline

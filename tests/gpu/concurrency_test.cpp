// Curves of concurrency, random access, atomics and instructions have the hardware's shapes.

#include <algorithm>
#include <limits>
#include <map>
#include <ranges>

#include "harness/conclude/limits.hpp"
#include "tests/gpu/points.hpp"

namespace peakline {
namespace {

class Concurrency : public Points {
 protected:
  std::map<std::string, Measurement> all(const std::string& id) {
    std::map<std::string, Measurement> found;
    for (const Point& point : find_benchmark(registry_.benchmarks(), id)->points) {
      const std::string name = point_name(id, point.params);
      if (auto m = measured(name)) found.emplace(name, std::move(*m));
    }
    return found;
  }
};

// With one access in flight, twice as many warps do twice as much; the most in flight reach the
// ceiling, and no point is far below one with less in flight.
TEST_F(Concurrency, MoreInFlightIsFasterUntilTheCeiling) {
  struct Curve {
    const char *id, *depth;
    double tolerance;  // FMA chains of warps that do not divide by four leave units idle
  };
  for (const auto& [id, depth, tolerance] :
       {Curve{"occupancy.hbm", "loads", 0.05}, Curve{"occupancy.fma", "chains", 0.3}}) {
    std::map<std::pair<std::int64_t, std::int64_t>, double> rates;
    for (const auto& [name, m] : all(id))
      rates[{*int_param(m.params, "warps"), *int_param(m.params, depth)}] = *m.value;
    const double most = std::ranges::max(rates | std::views::values);
    EXPECT_LT(rates.at({1, 1}), 0.1 * most) << id;
    EXPECT_NEAR(rates.at({2, 1}) / rates.at({1, 1}), 2, 0.1) << id;
    for (const auto& [few, less] : rates)
      for (const auto& [many, more] : rates) {
        if (many.first < few.first || many.second < few.second) continue;
        EXPECT_GT(more, (1 - tolerance) * less) << id << ' ' << many.first << ' ' << many.second
                                                << " after " << few.first << ' ' << few.second;
      }
  }
}

// The TLBs of a data centre GPU cover many GiB.
TEST_F(Concurrency, RandomAccessIsSlowerBeyondTheTlbsReach) {
  constexpr std::int64_t kCovered = std::int64_t{8} << 30;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Point& point : find_benchmark(registry_.benchmarks(), "random.gather")->points) {
    const auto m = measured(point_name("random.gather", point.params));
    if (!m) continue;
    EXPECT_LT(*m->value, 1.03 * least) << m->name();
    least = std::min(least, *m->value);
    most = std::max(most, *m->value);
    if (*int_param(point.params, "bytes") <= kCovered) {
      EXPECT_GT(*m->value, 0.85 * most) << m->name();
    }
  }
}

// Threads that share an address wait for one another, in global memory across the whole device, and
// a wider scope is no faster.
TEST_F(Concurrency, AtomicsOnOneAddressAreSlowest) {
  for (const char* id : {"atomics.global", "atomics.shared"}) {
    const auto rates = all(id);
    for (const auto& [name, m] : rates) {
      const auto with = [&](const char* param, const char* other) {
        Params changed = m.params;
        for (auto& [key, value] : changed)
          if (key == param) value = std::string(other);
        const auto found = rates.find(point_name(id, changed));
        return found == rates.end() ? std::nullopt : found->second.value;
      };
      if (text_param(m.params, "scope") == "system") {
        EXPECT_GT(*with("scope", "device"), 0.95 * *m.value) << name;
      }
      if (text_param(m.params, "addresses") != "one") continue;
      EXPECT_GT(*with("addresses", "per_thread"), 5 * *m.value) << name;
      const auto per_lane = with("addresses", "per_lane"), per_warp = with("addresses", "per_warp");
      if (!per_lane || !per_warp) continue;
      EXPECT_GT(*per_lane, 2 * *m.value) << name;
      if (m.id == "atomics.shared") continue;  // a block's threads meet once a warp
      EXPECT_GT(*per_warp, 2 * *per_lane) << name;
      EXPECT_GT(*with("addresses", "per_thread"), 2 * *per_warp) << name;
    }
  }
}

// Rates of NVIDIA's table of arithmetic throughput, and latencies of whole clocks.
TEST_F(Concurrency, InstructionsAreAsFastAsTheTableSays) {
  int known = 0;
  for (const auto& [name, m] : all("instruction.throughput")) {
    const Benchmark& benchmark = *find_benchmark(registry_.benchmarks(), m.id);
    const auto limit = benchmark.limit.of(&m, session_.facts);
    if (!limit) continue;
    ++known;
    EXPECT_LT(*m.value, plausible_limit(benchmark, m, at_clock_of(m))) << name;
    EXPECT_GT(*m.value, 0.85 * limit->value) << name;
  }
  EXPECT_GT(known, 10);
  const double clock_hz = *session_.facts.sm_clock_max_hz;
  for (const auto& [name, m] : all("instruction.latency")) {
    EXPECT_GT(*m.value * clock_hz, 1.9) << name;
    EXPECT_LT(*m.value * clock_hz, 200) << name;
  }
}

}  // namespace
}  // namespace peakline

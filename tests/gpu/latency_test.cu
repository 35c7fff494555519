// Walks visit every slot once, and their latencies are those of the device's levels.

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "kernels/latency.cuh"
#include "tests/gpu/points.hpp"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

using kernels::Cycle;

TEST(Walk, GoesThroughEverySlotOnceAndBack) {
  const auto cycles = {Cycle{.slots = 1, .stride = 8},
                       Cycle{.slots = 8, .stride = 128},
                       Cycle{.slots = 1000, .stride = 128},
                       Cycle{.slots = 3 << 14, .stride = 64},
                       Cycle{.slots = 777, .stride = 1024, .lines = 8},
                       Cycle{.slots = 500, .stride = 16, .random = false}};
  for (const Cycle& cycle : cycles) {
    const cuda::DeviceBuffer<char> memory(cycle.bytes());
    PEAKLINE_CUDA(cudaMemset(memory.data(), 0xff, cycle.bytes()));
    kernels::fill_cycle<<<7, 96>>>(memory.data(), cycle);
    const std::vector<char> host = memory.to_host();
    std::set<std::uint64_t> seen;
    std::uint64_t offset = cycle.offset(0);
    while (seen.insert(offset / cycle.stride).second) {
      std::uint64_t next = 0;
      std::memcpy(&next, host.data() + offset, sizeof(next));
      offset = next - reinterpret_cast<std::uint64_t>(memory.data());
      ASSERT_LE(offset, cycle.bytes() - sizeof(next));
    }
    EXPECT_EQ(seen.size(), cycle.slots);
    EXPECT_EQ(offset, cycle.offset(0));
  }
}

TEST(Walk, ToTheNextSlotHasNoPattern) {
  constexpr std::uint64_t kSlots = 1 << 14;
  const Cycle cycle{.slots = kSlots, .stride = 1};
  std::map<std::uint64_t, int> distances;
  for (std::uint64_t i = 0; i < kSlots; ++i)
    ++distances[(cycle.offset((i + 1) % kSlots) - cycle.offset(i)) % kSlots];
  for (const auto& [distance, times] : distances)
    EXPECT_LE(times, 12);  // Poisson with mean 1: as many chances as distances
  EXPECT_LE(distances[1] + distances[kSlots - 1], 12);
}

class Latencies : public Points {
 protected:
  // Seconds; nullopt if the point is skipped.
  std::optional<double> measure(const std::string& name) {
    const auto m = measured(name);
    if (!m) return std::nullopt;
    EXPECT_EQ(m->conditions.sm_clock_source, ClockSource::kKernel) << name;
    return m->value;
  }
};

TEST_F(Latencies, GrowFromLevelToLevel) {
  double before = 0;
  for (const char* name : {"latency.l1", "latency.l2/part:near", "latency.l2/part:far",
                           "latency.hbm", "latency.pcie"}) {
    const auto seconds = measure(name);
    if (!seconds) continue;
    EXPECT_GT(*seconds, 0.98 * before) << name;  // an L2 may have a single partition
    before = *seconds;
  }
  EXPECT_LT(*measure("latency.shared"), 1.1 * *measure("latency.l1"));
}

TEST_F(Latencies, OfRemoteSharedMemoryLieBelowTheL2s) {
  const double own = *measure("latency.shared"), l2 = *measure("latency.l2/part:near");
  int measured = 0;
  for (const int size : {2, 4, 8, 16}) {
    const auto seconds = measure("latency.dsmem/blocks:" + std::to_string(size));
    if (!seconds) continue;
    ++measured;
    EXPECT_GT(*seconds, 3 * own) << size;
    EXPECT_LT(*seconds, l2) << size;
  }
  if (session_.facts.compute_major >= 9) EXPECT_GE(measured, 3);
}

TEST_F(Latencies, OverTheFootprintRiseWhereTheCachesEnd) {
  std::map<double, double> seconds;
  for (const Point& point : find_benchmark(registry_.benchmarks(), "latency.sweep")->points) {
    const auto bytes = static_cast<double>(*int_param(point.params, "bytes"));
    if (const auto value = measure(point_name("latency.sweep", point.params)))
      seconds[bytes] = *value;
  }
  double highest = 0;
  for (const auto& [bytes, value] : seconds) {
    EXPECT_GT(value, 0.97 * highest) << bytes;
    highest = std::max(highest, value);
  }
  const double l1_s = seconds.begin()->second, hbm_s = seconds.at(1 << 30);
  const auto last_below = [&](double limit_s) {
    double last = 0;
    for (const auto& [bytes, value] : seconds)
      if (value < limit_s) last = bytes;
    return last;
  };
  // L1 and shared memory are one memory, slightly larger than the latter.
  EXPECT_NEAR(last_below(1.5 * l1_s), *session_.facts.shared_per_sm_bytes,
              0.3 * *session_.facts.shared_per_sm_bytes);
  // The L2 has two partitions, of which one SM may use only the nearer.
  EXPECT_GE(last_below(0.9 * hbm_s), 0.4 * *session_.facts.l2_bytes);
  EXPECT_LE(last_below(0.75 * hbm_s), 1.5 * *session_.facts.l2_bytes);
  // Pages beyond the TLB cost somewhat more.
  EXPECT_LT(seconds.rbegin()->second, 2 * hbm_s);
}

// Slots two lines apart use every other line, and the L1 holds all of these; it fills sectors of 32
// bytes, so from that stride on each load misses.
TEST_F(Latencies, ByStrideShowTheL1sLinesAndSectors) {
  const auto at = [&](const char* order, int stride) {
    return measure(std::string("latency.stride/order:") + order +
                   "/stride:" + std::to_string(stride))
        .value();
  };
  const double l1_s = *measure("latency.l1"), l2_s = *measure("latency.l2/part:near");
  for (const int stride : {256, 512})
    for (const char* order : {"random", "sequential"})
      EXPECT_NEAR(at(order, stride) / l1_s, 1, 0.1) << order << ' ' << stride;
  for (const int stride : {8, 16, 32, 64, 128}) EXPECT_GT(at("random", stride), 3 * l1_s) << stride;
  for (const int stride : {32, 64, 128}) EXPECT_GT(at("sequential", stride), 0.9 * l2_s) << stride;
  EXPECT_LT(at("sequential", 16), 0.75 * l2_s);
  EXPECT_LT(at("sequential", 8), 0.75 * at("sequential", 16));
}

// In a footprint beyond the L2, every other line fits; at the stride of a line, nearly none does.
TEST_F(Latencies, ByStrideShowTheL2sLines) {
  const auto at = [&](int stride) {
    return measure("latency.stride.l2/order:random/stride:" + std::to_string(stride)).value();
  };
  const double hbm_s = *measure("latency.hbm");
  EXPECT_LT(at(512), at(256));
  EXPECT_LT(at(256), 0.9 * at(128));
  EXPECT_GT(at(128), 0.9 * hbm_s);
  EXPECT_NEAR(at(64) / at(128), 1, 0.05);
}

}  // namespace
}  // namespace peakline

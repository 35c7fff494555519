// Kernels over caches and shared memory against the host, and the shapes of their curves.

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <string>

#include "harness/conclude/limits.hpp"
#include "harness/statistics/sm_clock.hpp"
#include "kernels/cache.cuh"
#include "kernels/reference.cuh"
#include "kernels/shared.cuh"
#include "tests/gpu/points.hpp"
#include "tests/gpu/support.cuh"
#include "tests/unit/figures.hpp"

namespace peakline {
namespace {

using cuda::DeviceBuffer;

TEST(Reference, SumsPartsThatAreReadOverAndOver) {
  const auto host = random_words(3 * 40, 11);
  const auto result = on_device(std::vector<std::uint32_t>{0});
  kernels::reference_repeated_sum<<<3, 64>>>(on_device(host).data(), host.size(), 40, 107,
                                             result.data());
  std::uint32_t expected = 0;
  for (std::size_t part = 0; part < 3; ++part)
    for (std::size_t i = 0; i < 107; ++i) expected += host[part * 40 + i % 40];
  EXPECT_EQ(result.to_host()[0], expected);
}

template <class Cache, class Vec, int kUnroll>
void check_cached_reads() {
  constexpr unsigned kBlocks = 5, kTrips = 9, kWords = 32 * kUnroll * sizeof(Vec) / 4;
  // Fewer chunks than warps, as many, and more.
  for (const unsigned chunks : {1u, 2u, 4u, 11u})
    for (const unsigned warps : {1u, 4u}) {
      const auto host = random_words(std::size_t{kBlocks} * chunks * kWords, 13);
      const DeviceBuffer<std::uint32_t> of_warp(kBlocks * warps);
      kernels::cached_read<Cache, Vec, kUnroll><<<kBlocks, 32 * warps>>>(
          reinterpret_cast<const Vec*>(on_device(host).data()), chunks, kTrips, of_warp.data());
      const auto found = of_warp.to_host();
      for (unsigned i = 0; i < found.size(); ++i) {
        std::uint32_t expected = 0;
        for (unsigned trip = 0; trip < kTrips; ++trip) {
          const unsigned chunk = i / warps * chunks + (i % warps + trip * warps) % chunks;
          for (unsigned w = 0; w < kWords; ++w) expected += host[std::size_t{chunk} * kWords + w];
        }
        ASSERT_EQ(found[i], expected) << chunks << ' ' << warps << ' ' << i;
      }
    }
}

TEST(CachedRead, WarpsTakeTheChunksOfTheirBlockInTurn) {
  check_cached_reads<kernels::ThroughL1, std::uint32_t, 16>();
  check_cached_reads<kernels::ThroughL1, uint2, 8>();
  check_cached_reads<kernels::ThroughL2, uint4, 8>();
}

constexpr std::size_t kTileWords = std::size_t{kernels::kL2Tile} * 4;

template <int kUnroll>
void check_l2_reads() {
  constexpr unsigned kTiles = 3;
  const auto host = random_words(kTiles * kTileWords, 17);
  const auto data = on_device(host);
  for (const unsigned threads : {32u, 128u, kernels::kMostL2Threads})
    for (const unsigned blocks : {2u, 7u}) {  // fewer than all tiles; two rounds and one more
      const DeviceBuffer<std::uint32_t> of_warp(blocks * threads / 32);
      kernels::l2_read<kUnroll><<<blocks + 2, threads>>>(
          reinterpret_cast<const uint4*>(data.data()), kTiles, blocks, of_warp.data());
      std::uint32_t expected = 0;
      for (std::size_t i = 0; i < blocks * kTileWords; ++i) expected += host[i % host.size()];
      const auto found = of_warp.to_host();
      EXPECT_EQ(std::reduce(found.begin(), found.end()), expected) << threads << ' ' << blocks;
    }
}
TEST(L2Read, BlocksTakeTheTilesInTurn) {
  check_l2_reads<1>();
  check_l2_reads<2>();
  check_l2_reads<4>();
  check_l2_reads<8>();
}

template <int kUnroll>
void check_l2_writes() {
  constexpr unsigned kTiles = 3, kValue = 0x1234567;
  for (const unsigned threads : {32u, 128u, kernels::kMostL2Threads})
    for (const unsigned blocks : {2u, 7u}) {
      const auto data = on_device(std::vector<std::uint32_t>(kTiles * kTileWords + 4, 5));
      kernels::l2_write<kUnroll>
          <<<blocks + 2, threads>>>(reinterpret_cast<uint4*>(data.data()), kTiles, blocks, kValue);
      const auto found = data.to_host();
      const std::size_t written = std::min(blocks, kTiles) * kTileWords;
      for (std::uint32_t i = 0; i < written; ++i) ASSERT_EQ(found[i], kValue ^ i) << i;
      for (std::size_t i = written; i < found.size(); ++i) ASSERT_EQ(found[i], 5u) << i;
    }
}
TEST(L2Write, LeavesThePatternInItsTilesAlone) {
  check_l2_writes<1>();
  check_l2_writes<2>();
  check_l2_writes<4>();
}

TEST(SharedConflicts, SoManyLanesMeetInABankAndNoTwoReadTheSameWord) {
  for (unsigned ways = 1; ways <= 32; ++ways) {
    std::map<unsigned, unsigned> in_bank;
    std::set<unsigned> words;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned word = kernels::conflicting_word(lane, ways);
      ASSERT_LT(word, kernels::kBanks * kernels::kBanks) << ways;
      ++in_bank[word % kernels::kBanks];
      words.insert(word);
    }
    EXPECT_EQ(words.size(), 32u) << ways;
    EXPECT_EQ(std::ranges::max(in_bank | std::views::values), ways);
  }
}

class CacheCurves : public Points {
 protected:
  CacheCurves() { options_.quick = true; }

  // Share of what the SMs' data paths move at the clock of the measurement.
  double share(const std::string& name) {
    const Measurement m = measured(name).value();
    const auto limit = on_chip_bandwidth().of(&m, session_.facts);
    if (!limit || !m.conditions.sm_clock_hz) return 0;
    return *m.value / limit->value * *limit->conditions.sm_clock_hz / *m.conditions.sm_clock_hz;
  }
};

TEST_F(CacheCurves, TheL1AndSharedMemoryMoveWhatTheirWidthAllows) {
  for (const char* name : {"l1.read", "shared.read", "shared.write"}) {
    const double found = share(name);
    if (found == 0) GTEST_SKIP() << "no theoretical rate known for this device";
    EXPECT_GT(found, 0.97) << name;
    EXPECT_LT(found, kPlausibleMargin) << name;
  }
}

TEST_F(CacheCurves, AConflictTakesAsManyTimesAsLongAsItHasWays) {
  const double none = value("shared.conflicts/ways:1");
  for (const int ways : {2, 3, 8, 32})
    EXPECT_NEAR(none / value("shared.conflicts/ways:" + std::to_string(ways)), ways, 0.05 * ways);
}

TEST_F(CacheCurves, EachLevelEndsNearTheSizeThatTheDeviceReports) {
  const Benchmark* sweep = find_benchmark(registry_.benchmarks(), "cache.sweep");
  std::vector<Measurement> points;
  for (const Point& point : sweep->points)
    points.push_back(measured(point_name(sweep->id, point.params)).value());
  const std::vector<Figure> said = said_by(sweep->curves.front(), points, &session_.facts);
  const auto held = [&](const char* level) {
    return figure_of(said, {.role = role::kHeldByRate, .by = {{"level", level}}});
  };
  const auto rate = [&](const char* level) {
    return figure_of(said, {.name = "rate", .by = {{"level", level}}});
  };
  // L1 and shared memory are one memory.
  const double shared = *session_.facts.shared_per_sm_bytes, l2 = *session_.facts.l2_bytes;
  EXPECT_GT(held("l1"), 0.5 * shared);
  EXPECT_LT(held("l1"), 1.3 * shared);
  EXPECT_GT(held("l2"), 0.5 * l2);
  EXPECT_LT(held("l2"), 1.3 * l2);
  EXPECT_GT(rate("l1"), 2 * rate("l2"));
  EXPECT_GT(rate("l2"), 1.3 * rate("hbm"));
  // Rates never rise with the footprint.
  std::map<std::string, double> least;
  for (const Measurement& m : points) {
    auto& so_far = least.try_emplace(*text_param(m.params, "through"), *m.value).first->second;
    EXPECT_LT(*m.value, 1.06 * so_far) << m.name();
    so_far = std::min(so_far, *m.value);
  }
  for (const Measurement& m : points)
    if (*int_param(m.params, "sm_bytes") <= 32 * 1024)
      EXPECT_NEAR(*m.value / rate("l1"), 1, 0.03) << m.name();
}

TEST_F(CacheCurves, TheL2IsEvenlyFastAndWritesAreSlower) {
  std::map<std::string, std::vector<double>> rates;
  for (const char* id : {"l2.read", "l2.write"})
    for (const Point& point : find_benchmark(registry_.benchmarks(), id)->points)
      rates[id].push_back(value(point_name(id, point.params)));
  for (const auto& [id, found] : rates)
    EXPECT_LT(std::ranges::max(found), 1.15 * std::ranges::min(found)) << id;
  EXPECT_LT(std::ranges::max(rates["l2.write"]), std::ranges::min(rates["l2.read"]));
}

TEST_F(CacheCurves, AnotherSmsSharedMemoryIsSlowerThanOnesOwn) {
  if (session_.facts.compute_major < 9) GTEST_SKIP() << "no clusters";
  const double own = value("dsmem.read/cluster:1"), of_two = value("dsmem.read/cluster:2");
  EXPECT_LT(of_two, 0.5 * own);
  for (const int size : {4, 8, 16})  // 16 is not available on every device
    if (const auto m = measured("dsmem.read/cluster:" + std::to_string(size)))
      EXPECT_LT(*m->value, of_two) << size;
}

}  // namespace
}  // namespace peakline

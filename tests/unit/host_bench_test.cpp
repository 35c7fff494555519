// Kernels of the host, and what their benchmarks record.

#include "harness/benchmark/host_bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "bench/host/kernels.hpp"
#include "harness/host/facts.hpp"
#include "harness/host/sampler.hpp"
#include "harness/values/clock.hpp"
#include "kernels/host/memory.hpp"

namespace peakline::bench {
namespace {

class Kernels : public testing::TestWithParam<const HostKernels*> {
 protected:
  const HostKernels& kernels_ = *GetParam();

  template <class T>
  std::vector<T> start_values() const {
    std::vector<T> start(static_cast<std::size_t>(kernels_.fma_chains) *
                         static_cast<std::size_t>(kernels_.vector_bytes) / sizeof(T));
    for (std::size_t i = 0; i < start.size(); ++i)
      start[i] = static_cast<T>(1 + 0x1p-23 * static_cast<double>(random_word(1, i) >> 41));
    return start;
  }

  template <class T, class Kernel>
  void expect_fma_matches(Kernel kernel) const {
    const T a = static_cast<T>(0.999), b = static_cast<T>(1.25e-3);
    const auto start = start_values<T>();
    for (const std::int64_t steps : {0, 1, 2, 1001}) {
      std::vector<T> results(start.size());
      kernel(start.data(), results.data(), a, b, steps);
      for (std::size_t i = 0; i < start.size(); ++i)
        ASSERT_EQ(results[i], reference_fma_chain(kernels_.fused, start[i], a, b, steps)) << i;
    }
  }
};

TEST_P(Kernels, FmaMatchesTheReferenceBitForBit) {
  expect_fma_matches<float>(kernels_.fma_fp32);
  expect_fma_matches<double>(kernels_.fma_fp64);
}

// A folded or dropped chain would take no longer for more steps.
TEST_P(Kernels, TimedFmaTakesTwiceAsLongForTwiceTheSteps) {
  const auto start = start_values<float>();
  std::vector<float> results(start.size());
  const auto seconds = [&](std::int64_t steps) {
    const double begin_s = now_s();
    kernels_.fma_fp32(start.data(), results.data(), 0.999f, 1e-3f, steps);
    return now_s() - begin_s;
  };
  constexpr std::int64_t kSteps = 20000;
  // The shortest of many, alternating, so that other work on the machine slows both or neither.
  double once_s = 1e9, twice_s = 1e9;
  for (int i = 0; i < 300; ++i) {
    once_s = std::min(once_s, seconds(kSteps));
    twice_s = std::min(twice_s, seconds(2 * kSteps));
  }
  EXPECT_NEAR(twice_s / once_s, 2, 0.5);
  // No CPU does more than 4 vector FMAs per clock, at 8 GHz.
  EXPECT_LT(static_cast<double>(kSteps) * kernels_.fma_chains / once_s, 4 * 8e9);
}

TEST_P(Kernels, StreamsMatchTheReference) {
  constexpr std::size_t kWords = 40 * kernels::kStreamGranule / sizeof(std::uint64_t);
  constexpr std::uint64_t kUntouched = 0xfedcba9876543210;
  const host::HostBuffer from(kWords * 8), to((kWords + 1) * 8);
  auto* const source = from.as<std::uint64_t>();
  auto* const target = to.as<std::uint64_t>();
  for (std::size_t i = 0; i < kWords; ++i) source[i] = random_word(2, i);
  target[kWords] = kUntouched;
  EXPECT_EQ(kernels_.read_sum(source, kWords),
            std::accumulate(source, source + kWords, std::uint64_t{0}));
  kernels_.copy(target, source, kWords);
  EXPECT_TRUE(std::equal(source, source + kWords, target));
  EXPECT_EQ(target[kWords], kUntouched);

  const host::HostBuffer a(kWords * 8), b(kWords * 8), c(kWords * 8);
  for (std::size_t i = 0; i < kWords; ++i) {
    b.as<double>()[i] = static_cast<double>(i);
    c.as<double>()[i] = static_cast<double>(random_word(3, i) >> 40);
  }
  kernels_.triad(a.as<double>(), b.as<double>(), c.as<double>(), 5, kWords);
  for (std::size_t i = 0; i < kWords; ++i)
    ASSERT_EQ(a.as<double>()[i], b.as<double>()[i] + 5 * c.as<double>()[i]) << i;
}

TEST_P(Kernels, SweepSumsEveryResult) {
  constexpr std::size_t kCount = 24576 / sizeof(float);
  const host::HostBuffer data(kCount * sizeof(float));
  for (std::size_t i = 0; i < kCount; ++i)
    data.as<float>()[i] = 1 + static_cast<float>(random_word(4, i) >> 40) * 0x1p-24f;
  for (const std::int64_t n : {0, 1, 2, 7, 64}) {
    std::uint32_t expected = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      expected += std::bit_cast<std::uint32_t>(
          reference_fma_chain(kernels_.fused, data.as<float>()[i], 0.999f, 1.5e-3f, n));
    EXPECT_EQ(kernels_.sweep_fp32(data.as<float>(), kCount, n, 0.999f, 1.5e-3f), expected) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Kernels, testing::ValuesIn(supported_host_kernels()),
                         [](const auto& kernels) {
                           std::string name(to_string(kernels.param->extension));
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

TEST(HostKernels, TheWidestIsTheOneInTheFacts) {
  EXPECT_EQ(widest_host_kernels().extension, host::widest_vector_extension());
}

TEST(ReferenceFma, RoundsOnceOrTwice) {
  const float x = 1 + 0x1p-12f;
  // x * x = 1 + 2^-11 + 2^-24; the last term does not fit a float.
  EXPECT_EQ(reference_fma_chain(true, x, x, -(1 + 0x1p-11f), 1), 0x1p-24f);
  EXPECT_EQ(reference_fma_chain(false, x, x, -(1 + 0x1p-11f), 1), 0.0f);
}

class HostBenchTest : public testing::Test {
 protected:
  HostBench make(Timing timing) {
    point_ = {.params = {{"threads", std::int64_t{2}}}, .phase = Phase::kHost, .timing = timing};
    return HostBench(benchmark_, point_, options_, cache_);
  }

  const Benchmark benchmark_{
      .id = "host.test", .what = "", .work = "", .quantity = Quantity::kByteRate, .points = {}};
  Point point_;
  RunOptions options_;
  WorkerCache cache_;
};

TEST_F(HostBenchTest, FillsTheRecord) {
  HostBench bench = make(Timing::kCurve);
  const auto half_a_millisecond = [](int) {
    for (const double start_s = now_s(); now_s() < start_s + 0.5e-3;) {
    }
  };
  bench.measure({.bytes_read = 500}, half_a_millisecond, 2);
  const Measurement& record = bench.record();
  ASSERT_TRUE(record.summary && record.value);
  EXPECT_EQ(record.summary->n, 7);
  EXPECT_GE(record.launches_per_sample, 1);
  EXPECT_LE(record.launches_per_sample, 4);
  EXPECT_GE(record.summary->min, 0.5e-3);
  EXPECT_DOUBLE_EQ(*record.value, 500 / record.summary->median);
  EXPECT_EQ(record.unit, "B/s");
  EXPECT_EQ(int_param(record.launch, "threads"), 2);
  EXPECT_EQ(record.conditions.sm_clock_hz, std::nullopt);
}

TEST_F(HostBenchTest, KeepsTheTeamWhileItsSizeStays) {
  HostBench first = make(Timing::kCurve), second = make(Timing::kCurve);
  const host::Team* const team = &first.team(2);
  EXPECT_EQ(&second.team(2), team);
  EXPECT_EQ(second.team(3).size(), 3);
}

TEST_F(HostBenchTest, EveryPointThatUsesAResultSaysHowItWasFound) {
  int searches = 0;
  const auto use = [&](HostBench& bench) {
    bench.note("own", std::int64_t{1});
    bench.remark("own remark");
    return bench.remember<int>("outer", [&] {
      const int inner = bench.remember<int>("inner", [&] {
        ++searches;
        bench.note("candidates", std::int64_t{20});
        bench.remark("footprint shrunk");
        return 6;
      });
      bench.note("candidates", std::int64_t{30});
      return inner + 1;
    });
  };
  for (int point = 0; point < 2; ++point) {
    HostBench bench = make(Timing::kCurve);
    EXPECT_EQ(use(bench), 7);
    EXPECT_EQ(bench.record().launch,
              (LaunchFacts{{"own", std::int64_t{1}}, {"candidates", std::int64_t{30}}}));
    EXPECT_EQ(bench.record().reason, "own remark; footprint shrunk");
  }
  EXPECT_EQ(searches, 1);
}

TEST_F(HostBenchTest, UnderAProfilerEachThreadLaunchesOnce) {
  options_.profile = true;
  HostBench bench = make(Timing::kFull);
  std::atomic<int> launches = 0;
  bench.measure(
      {.bytes_read = 1}, [&](int) { ++launches; }, 2);
  EXPECT_EQ(launches, 2);
  EXPECT_EQ(bench.record().launches_per_sample, 1);
  EXPECT_THAT(bench.record().reason, testing::HasSubstr("under a profiler"));
}

TEST_F(HostBenchTest, ArraysAreLargerThanTheCachesAndDoNotOverlap) {
  HostBench bench = make(Timing::kFull);
  const HostArrays arrays(bench, 2, 2, 4096);
  arrays.describe(bench);
  EXPECT_EQ(arrays.slice_bytes() % 4096, 0u);
  const auto footprint = int_param(bench.record().launch, "footprint_bytes");
  const auto cache = int_param(bench.record().launch, "cache_bytes");
  ASSERT_TRUE(footprint && cache);
  EXPECT_GE(*footprint, 2 * *cache);
  EXPECT_EQ(arrays.slice<char>(0, 1) - arrays.slice<char>(0, 0),
            static_cast<std::ptrdiff_t>(arrays.slice_bytes()));
  EXPECT_GE(std::abs(arrays.slice<char>(1, 0) - arrays.slice<char>(0, 0)),
            static_cast<std::ptrdiff_t>(arrays.array_bytes()));
}

}  // namespace
}  // namespace peakline::bench

// The sampler against kernels of known duration, and the clock against what the device may run at.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "bench/gemm/product.hpp"
#include "harness/benchmark/cuda_bench.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/statistics/sm_clock.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/clock.cuh"
#include "kernels/empty.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

__global__ void spin(std::uint64_t ns) {
  const std::uint64_t start = kernels::global_timer_ns();
  while (kernels::global_timer_ns() - start < ns) {
  }
}

cuda::Launch spin_for(double seconds) {
  return [seconds](cudaStream_t stream) {
    spin<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(seconds * 1e9));
  };
}

double middle(const cuda::Sampler::Timing& timing) { return median(timing.launch_s); }

TEST(Sampler, TimesAKernelOfKnownDuration) {
  cuda::Sampler sampler;
  sampler.warm_up(spin_for(1e-5));
  // Each launch adds about a microsecond.
  EXPECT_NEAR(middle(sampler.time_batches(spin_for(1e-3), 1, 10)), 1e-3, 2e-5);
  EXPECT_NEAR(middle(sampler.time_batches(spin_for(1e-4), 10, 10)), 1e-4, 5e-6);
}

TEST(Sampler, LeavesOutWhatTheHostTakesToLaunch) {
  cuda::Sampler sampler;
  const auto launch = spin_for(2e-5);
  const auto slow_launch = [&](cudaStream_t stream) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    launch(stream);
  };
  sampler.warm_up(launch);
  EXPECT_LT(middle(sampler.time_batches(slow_launch, 20, 3)), 4e-5);
}

TEST(Sampler, KeepsBatchesShortEnoughForTheQueue) {
  cuda::Sampler sampler;
  const cuda::Launch empty = [](cudaStream_t stream) { kernels::empty<<<1, 32, 0, stream>>>(); };
  sampler.warm_up(empty);
  const double launch_s = sampler.warm_up_for(empty, 0.01);
  EXPECT_GT(launch_s, 1e-7);
  EXPECT_LT(launch_s, 2e-5);
  // Would block for ever if the driver accepted fewer launches than are enqueued behind the hold.
  EXPECT_GE(
      sampler.time_batches(empty, sampler.launches_for(empty, 1.0, 1e-6), 1000).launch_s.size(),
      1u);
  const cuda::Launch many(empty.enqueue, {.operations = 130});
  EXPECT_LE(130 * sampler.launches_for(many, 1.0, 1e-6), 1000);
}

TEST(Sampler, ReleasesTheStreamWhenALaunchThrows) {
  cuda::Sampler sampler;
  const auto throws = [](cudaStream_t) { throw std::runtime_error("no"); };
  EXPECT_THROW(sampler.time_batches(throws, 1, 1), std::runtime_error);
  EXPECT_NEAR(middle(sampler.time_batches(spin_for(1e-3), 1, 3)), 1e-3, 5e-5);
}

auto until(double end_s) {
  return
      [=](std::span<const cuda::Sampler::Interval> so_far) { return so_far.back().end_s < end_s; };
}

TEST(Sampler, LoadHasNoGaps) {
  cuda::Sampler sampler;
  sampler.warm_up(spin_for(1e-4));
  const auto intervals = sampler.load(
      spin_for(1e-3), [](double) { return 20; }, until(0.5));
  ASSERT_GE(intervals.size(), 20u);
  for (const auto& interval : intervals) EXPECT_NEAR(interval.launch_s, 1e-3, 2e-5);
  const double span_s = intervals.back().end_s - intervals.front().end_s;
  EXPECT_NEAR(span_s / static_cast<double>(intervals.size() - 1), 20e-3, 1e-3);
}

TEST(Sampler, UnderAProfilerEverythingIsLaunchedOnce) {
  cuda::Sampler sampler(bench::read_sm_clocks, cuda::Sampler::Mode::kProfile);
  int launches = 0;
  const cuda::Launch counted = [&](cudaStream_t) { ++launches; };
  const auto launches_of = [&](auto what) {
    launches = 0;
    what();
    return launches;
  };
  EXPECT_EQ(launches_of([&] { sampler.warm_up_for(counted, 1.0); }), 1);
  EXPECT_EQ(launches_of([&] { sampler.time_batches(counted, 10, 7); }), 1);
  EXPECT_EQ(launches_of([&] { sampler.time_interleaved(counted, spin_for(1e-6), 150); }), 1);
  EXPECT_EQ(launches_of([&] {
              sampler.load(
                  counted, [](double) { return 20; },
                  [](std::span<const cuda::Sampler::Interval>) { return true; });
            }),
            1);
  EXPECT_EQ(launches_of([&] { bench::short_train_launch_s(sampler, counted); }), 2);  // warm-up
  EXPECT_EQ(launches_of([&] {
              bench::rank_candidates(sampler, 9, [&](std::size_t) { return counted; },
                                     {.seconds = 1}, {});
            }),
            0);
  EXPECT_FALSE(sampler.cannot_hold());
  const auto start = std::chrono::steady_clock::now();
  sampler.rest(10);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

Measurement measured(bench::CudaSession& session, const bench::RunOptions& options, Timing timing,
                     const cuda::Launch& launch) {
  const Benchmark benchmark{.id = "test", .what = {}, .work = {}, .points = {}};
  const Point point{.params = {}, .timing = timing};
  bench::WorkerCache cache;
  bench::CudaBench bench(benchmark, point, options, cache, session);
  bench.measure({}, launch);
  return bench.record();
}

TEST(Load, LastsAsAskedAndSettlesSoonerAfterAnother) {
  cuda::Sampler sampler;
  bench::LoadRunner loads(sampler);
  const LoadPart from_rest = loads.part_for(3, false);
  sampler.warm_up(spin_for(1e-3));
  const bench::Load load = loads.run(spin_for(1e-3), 1e-3, from_rest, std::nullopt);
  EXPECT_GT(load.intervals.back().end_s, from_rest.end_s());
  EXPECT_LT(load.intervals.back().end_s, from_rest.end_s() + 0.2);
  EXPECT_EQ(load.from_s, from_rest.from_s);
  EXPECT_LT(loads.part_for(3, false).from_s, from_rest.from_s);
  const bench::SettledLoad end = bench::settled(load.intervals, load.from_s);
  EXPECT_EQ(end.launch_s.size(), 7u);
  EXPECT_GT(end.intervals, 10u);
  for (const double launch_s : end.launch_s) EXPECT_NEAR(launch_s, 1e-3, 2e-5);
  // A steady load ends after a second.
  const LoadPart next = loads.part_for(3, false);
  const bench::Load steady = loads.run(spin_for(1e-3), 1e-3, next, 0.05);
  EXPECT_EQ(steady.from_s, next.from_s);
  EXPECT_NEAR(steady.intervals.back().end_s, next.from_s + 1, 0.2);
}

TEST(Measure, SaysThatTheStreamWasNotHeld) {
  const bench::RunOptions options;
  bench::CudaSession session(nullptr, options);
  EXPECT_EQ(measured(session, options, Timing::kCurve, spin_for(1e-4)).reason, "");
  session.sampler.stream_hold().disable();
  for (const Timing timing : {Timing::kCurve, Timing::kBrief})
    EXPECT_EQ(measured(session, options, timing, spin_for(1e-4)).reason,
              "the stream could not be held: the time may include gaps between launches");
}

TEST(Measure, UnderAProfilerLaunchesOnceAndSaysSo) {
  bench::RunOptions options;
  options.profile = true;
  bench::CudaSession session(nullptr, options);
  for (const Timing timing :
       {Timing::kCurve, Timing::kFull, Timing::kBurst, Timing::kLongBurst, Timing::kSustained}) {
    int launches = 0;
    const Measurement record =
        measured(session, options, timing, [&](cudaStream_t) { ++launches; });
    EXPECT_EQ(launches, 2);  // the first loads its code
    EXPECT_EQ(record.launches_per_sample, 1);
    EXPECT_EQ(record.samples_s.size(), 1u);
    EXPECT_EQ(record.reason, "single launch under a profiler: not a reliable figure");
  }
}

// Keeps an SM's FP32 units busy; thread 0 of each block reads the clock at both ends.
__global__ void stamped_fma(int trips, float* out, ClockReading* start, ClockReading* end) {
  __shared__ ClockReading begin;
  const auto read = [](ClockReading& reading) {
    const kernels::ClockTick tick = kernels::read_clock();
    reading = {.cycles = tick.cycles,
               .nanoseconds = tick.nanoseconds,
               .spread = tick.spread,
               .sm = blockIdx.x};
  };
  if (threadIdx.x == 0) read(begin);
  __syncthreads();
  float x[8];
  for (int c = 0; c < 8; ++c) x[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
    for (int step = 0; step < 32; ++step) {
#pragma unroll
      for (int c = 0; c < 8; ++c) x[c] = fmaf(x[c], -0.99f, 1.37f);
    }
  }
  for (int c = 1; c < 8; ++c) x[0] += x[c];
  out[blockIdx.x * blockDim.x + threadIdx.x] = x[0];
  __syncthreads();
  if (threadIdx.x == 0) {
    read(end[blockIdx.x]);
    start[blockIdx.x] = begin;
  }
}

TEST(Clock, AroundTheWorkIsTheOneWithin) {
  const DeviceFacts device = cuda::device_facts();
  const auto sms = static_cast<unsigned>(*device.sm_count);
  constexpr unsigned kThreads = 1024;
  const cuda::DeviceBuffer<float> out(sms * kThreads);
  const cuda::DeviceBuffer<ClockReading> start(sms), end(sms);
  cuda::Sampler sampler(bench::read_sm_clocks);
  for (const int trips : {400, 4000, 40'000}) {  // from 0.1 to tens of ms
    const cuda::Launch launch = [&](cudaStream_t stream) {
      stamped_fma<<<sms, kThreads, 0, stream>>>(trips, out.data(), start.data(), end.data());
    };
    sampler.warm_up_for(launch, 0.1);
    const auto around_hz = sampler.time_batches(launch, 1, 1).sm_clock_hz;
    const auto within_hz = clock_between(start.to_host(), end.to_host());
    ASSERT_TRUE(around_hz && within_hz) << trips;
    std::printf("  %d trips: %.3f MHz around, %.3f MHz within\n", trips, *around_hz / 1e6,
                *within_hz / 1e6);
    EXPECT_NEAR(*around_hz / *within_hz, 1, 0.003) << trips;
    EXPECT_GT(*around_hz, 0.1 * *device.sm_clock_max_hz);
  }
}

// The rate per clock of one fixed product, however power control moves the clock.
TEST(Clock, ExplainsTheRateOfAProductUnderLoad) {
  const Benchmark benchmark{.id = "test", .what = {}, .work = {}, .points = {}};
  const Point point{.params = {}, .timing = Timing::kCurve};
  const bench::RunOptions options;
  bench::WorkerCache cache;
  bench::CudaSession session(nullptr, options);
  bench::CudaBench bench(benchmark, point, options, cache, session);
  const bench::Product product(bench, bench::gemm_format("bf16"),
                               {.m = 8192, .n = 8192, .k = 8192});
  const auto launch = product.launch(product.best_algorithm(bench, 4, 0.1));
  const double launch_s = session.sampler.warm_up(launch);
  const auto intervals = session.sampler.load(
      launch, [&](double) { return session.sampler.launches_for(launch, 0.05, launch_s); },
      until(2.5));
  std::vector<double> per_clock, clocks_hz;
  for (const auto& interval : intervals) {
    ASSERT_TRUE(interval.sm_clock_hz);
    clocks_hz.push_back(*interval.sm_clock_hz);
    per_clock.push_back(product.work().flops / interval.launch_s / *interval.sm_clock_hz);
  }
  ASSERT_GE(per_clock.size(), 20u);
  const double middle = median(per_clock);
  const auto [lowest, highest] = std::ranges::minmax(per_clock);
  const auto [slowest_hz, fastest_hz] = std::ranges::minmax(clocks_hz);
  std::printf("  %zu intervals at %.0f to %.0f MHz: FLOP per clock %+.2f to %+.2f %%\n",
              per_clock.size(), slowest_hz / 1e6, fastest_hz / 1e6, 100 * (lowest / middle - 1),
              100 * (highest / middle - 1));
  EXPECT_GT(lowest, 0.99 * middle);
  EXPECT_LT(highest, 1.01 * middle);
}

TEST(Clock, IsReadForInterleavedLaunchesToo) {
  cuda::Sampler sampler(bench::read_sm_clocks);
  const auto clock_hz = sampler.time_interleaved(spin_for(2e-4), spin_for(1e-5), 20).sm_clock_hz;
  ASSERT_TRUE(clock_hz);
  const DeviceFacts device = cuda::device_facts();
  EXPECT_TRUE(possible_clock(clock_hz, device.sm_clock_max_hz, sm_clock_step(device)));
}

TEST(Clock, IsUnknownWithoutAReader) {
  cuda::Sampler sampler;
  EXPECT_FALSE(sampler.time_batches(spin_for(1e-3), 1, 1).sm_clock_hz);
}

// A clock that the value contradicts is dropped, and NVML's does not replace it.
TEST(Clock, IsAbsentWhereTheRateWouldExceedTheLimit) {
  const bench::RunOptions options;
  bench::CudaSession session(nullptr, options);
  Benchmark benchmark{.id = "test",
                      .what = {},
                      .work = {},
                      .quantity = Quantity::kFlopRate,
                      .limit = compute_peak({"cuda_core.fp32"}),
                      .points = {}};
  const Point point{.params = {}, .timing = Timing::kBrief};
  bench::WorkerCache cache;
  const auto clock_at = [&](double flops) {
    bench::CudaBench bench(benchmark, point, options, cache, session);
    bench.measure({.flops = flops}, spin_for(1e-3));
    return bench.record().conditions.sm_clock_hz;
  };
  EXPECT_TRUE(clock_at(1e9));
  EXPECT_FALSE(clock_at(1e15));
}

}  // namespace
}  // namespace peakline

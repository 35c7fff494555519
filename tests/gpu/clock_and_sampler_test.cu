// The sampler against kernels of known duration, and the clock against what the device may run at.

#include <chrono>
#include <stdexcept>
#include <thread>

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/core/statistics.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/sampler.hpp"
#include "kernels/clock.cuh"
#include "kernels/empty.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

// Spins until the global timer has advanced by `ns`.
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
  // Each launch adds about a microsecond of its own.
  EXPECT_NEAR(middle(sampler.time_batches(spin_for(1e-3), {.launches = 1}, 10)), 1e-3, 2e-5);
  EXPECT_NEAR(middle(sampler.time_batches(spin_for(1e-4), {.launches = 10}, 10)), 1e-4, 5e-6);
}

TEST(Sampler, LeavesOutWhatTheHostTakesToLaunch) {
  cuda::Sampler sampler;
  const auto launch = spin_for(2e-5);
  const auto slow_launch = [&](cudaStream_t stream) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    launch(stream);
  };
  sampler.warm_up(launch);
  EXPECT_LT(middle(sampler.time_batches(slow_launch, {.launches = 20}, 3)), 4e-5);
}

TEST(Sampler, KeepsBatchesShortEnoughForTheQueue) {
  cuda::Sampler sampler;
  const cuda::Launch empty = [](cudaStream_t stream) { kernels::empty<<<1, 32, 0, stream>>>(); };
  sampler.warm_up(empty);
  const double launch_s = sampler.warm_up_for(empty, 0.01);
  EXPECT_GT(launch_s, 1e-7);
  EXPECT_LT(launch_s, 2e-5);
  // Would block for ever if more were enqueued behind the hold than the driver takes.
  EXPECT_GE(sampler.time_batches(empty, sampler.batch_for(empty, 1.0, 1e-6), 1000).launch_s.size(),
            1u);
  const cuda::Launch many(empty.enqueue, {.operations = 130});
  EXPECT_LE(130 * sampler.launches_for(many, 1.0, 1e-6), 1000);
}

TEST(Sampler, ReleasesTheStreamWhenALaunchThrows) {
  cuda::Sampler sampler;
  const auto throws = [](cudaStream_t) { throw std::runtime_error("no"); };
  EXPECT_THROW(sampler.time_batches(throws, {.launches = 1}, 1), std::runtime_error);
  EXPECT_NEAR(middle(sampler.time_batches(spin_for(1e-3), {.launches = 1}, 3)), 1e-3, 5e-5);
}

TEST(Sampler, LoadHasNoGaps) {
  cuda::Sampler sampler;
  sampler.warm_up(spin_for(1e-4));
  const auto intervals = sampler.load(
      spin_for(1e-3), [](double) { return 20; }, [](double seconds) { return seconds < 0.5; });
  ASSERT_GE(intervals.size(), 20u);
  for (const auto& interval : intervals) EXPECT_NEAR(interval.launch_s, 1e-3, 2e-5);
  const double span_s = intervals.back().end_s - intervals.front().end_s;
  EXPECT_NEAR(span_s / static_cast<double>(intervals.size() - 1), 20e-3, 1e-3);
}

TEST(Sampler, UnderAProfilerEverythingIsLaunchedOnce) {
  cuda::Sampler sampler(bench::launch_clock_probe, cuda::Sampler::Mode::kProfile);
  int launches = 0;
  const cuda::Launch counted = [&](cudaStream_t) { ++launches; };
  const auto launches_of = [&](auto what) {
    launches = 0;
    what();
    return launches;
  };
  EXPECT_EQ(launches_of([&] { sampler.warm_up_for(counted, 1.0); }), 1);
  EXPECT_EQ(launches_of([&] {
              sampler.time_batches(counted, {.launches = 10, .beside_probe = 3}, 7,
                                   cuda::Sampler::Probe::kBetween);
            }),
            1);
  EXPECT_EQ(launches_of([&] { sampler.time_interleaved(counted, spin_for(1e-6), 150); }), 1);
  EXPECT_EQ(launches_of([&] {
              sampler.load(
                  counted, [](double) { return 20; }, [](double) { return true; });
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

Measurement measured(bench::CudaSession& session, const bench::RunOptions& options, Rule rule,
                     const cuda::Launch& launch) {
  const Benchmark benchmark{.id = "test", .what = {}, .work = {}, .points = {}};
  const Point point{.params = {}, .rule = rule};
  bench::WorkerCache cache;
  bench::CudaBench bench(benchmark, point, options, cache, session);
  bench.measure({}, launch);
  return bench.record();
}

TEST(Measure, SaysThatTheStreamWasNotHeld) {
  const bench::RunOptions options;
  bench::CudaSession session(nullptr, options);
  EXPECT_EQ(measured(session, options, Rule::kCurve, spin_for(1e-4)).reason, "");
  session.sampler.stream_hold().disable();
  for (const Rule rule : {Rule::kCurve, Rule::kBrief})
    EXPECT_EQ(measured(session, options, rule, spin_for(1e-4)).reason,
              "the stream could not be held: the time may include gaps between launches");
}

TEST(Measure, UnderAProfilerLaunchesOnceAndSaysSo) {
  bench::RunOptions options;
  options.profile = true;
  bench::CudaSession session(nullptr, options);
  for (const Rule rule : {Rule::kCurve, Rule::kFull, Rule::kBurst, Rule::kSustained}) {
    int launches = 0;
    const Measurement record = measured(session, options, rule, [&](cudaStream_t) { ++launches; });
    EXPECT_EQ(launches, 2);  // the first to load its code
    EXPECT_EQ(record.launches_per_sample, 1);
    EXPECT_EQ(record.samples_s.size(), 1u);
    EXPECT_EQ(record.reason, "single launch under a profiler: not a reliable figure");
  }
}

TEST(Clock, ProbeIsWithinTheDevicesRange) {
  cuda::Sampler sampler(bench::launch_clock_probe);
  const double maximum_hz = *cuda::device_facts().sm_clock_max_hz;
  sampler.warm_up_for(spin_for(1e-4), 0.3);
  for (const auto probe : {cuda::Sampler::Probe::kBetween, cuda::Sampler::Probe::kInside}) {
    const auto clock_hz =
        sampler.time_batches(spin_for(1e-4), {.launches = 10}, 5, probe).sm_clock_hz;
    ASSERT_TRUE(clock_hz);
    EXPECT_GT(*clock_hz, 0.1 * maximum_hz);
    EXPECT_LT(*clock_hz, 1.005 * maximum_hz);
  }
}

TEST(Clock, IsUnknownWithoutProbeOrStamp) {
  cuda::Sampler sampler;
  EXPECT_FALSE(
      sampler.time_batches(spin_for(1e-5), {}, 1, cuda::Sampler::Probe::kBetween).sm_clock_hz);
}

}  // namespace
}  // namespace peakline

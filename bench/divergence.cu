// What does it cost when the threads of a warp take different paths?

#include <cmath>

#include "harness/benchmark/cuda_data.cuh"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "kernels/divergence.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using kernels::kDivergenceChains;
using kernels::kDivergenceUnroll;

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerSm = 4;
// About 0.3 ms with one path, beside which the cost of a launch is small, and 10 ms with 32.
constexpr int kTrips = 1024;
constexpr int kVerifiedTrips = 3;
constexpr auto kA = static_cast<float>(kFmaFactor), kB = static_cast<float>(kFmaAddend);

void divergence(CudaBench& bench, int group) {
  const auto paths = static_cast<int>(bench.integer("paths"));
  const unsigned blocks = bench.sm_count() * kBlocksPerSm;
  const std::size_t threads = static_cast<std::size_t>(blocks) * kThreads;
  const auto start = random_normal<float>(32, bench.seed());
  const DeviceBuffer<float> out(threads);
  const auto launch = [&](int trips) {
    return [&, trips](cudaStream_t stream) {
      kernels::divergence<<<blocks, kThreads, 0, stream>>>(start.data(), kA, kB, trips, group,
                                                           paths, out.data());
    };
  };
  bench.verify([&]() -> std::string {
    poison(out, bench.stream());
    bench.launch_once(launch(kVerifiedTrips));
    std::vector<float> expected = start.to_host();  // of each lane; the host is slow at all threads
    for (float& of_lane : expected) {
      float sum = 0;
      for (int c = 0; c < kDivergenceChains; ++c) {
        float x = of_lane + static_cast<float>(c);
        for (int i = 0; i < kVerifiedTrips * kDivergenceUnroll; ++i) x = std::fma(x, kA, kB);
        sum += x;
      }
      of_lane = sum;
    }
    const std::vector<float> found = out.to_host();
    for (std::size_t thread = 0; thread < found.size(); ++thread)
      if (found[thread] != expected[thread % expected.size()])
        return "thread " + std::to_string(thread) + " differs from the host";
    return "";
  });
  bench.note("blocks_per_sm", std::int64_t{kBlocksPerSm});
  bench.note("threads", std::int64_t{kThreads});
  const double flops =
      2.0 * kDivergenceChains * kDivergenceUnroll * kTrips * static_cast<double>(threads);
  bench.measure({.flops = flops}, launch(kTrips));
}

std::vector<Point> path_points() {
  std::vector<Point> points;
  for (const std::int64_t paths : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32})
    points.push_back({.params = {{"paths", paths}},
                      .phase = Phase::kDevice,
                      .rule = Rule::kCurve,
                      .seconds = 0.03 + 0.003 * static_cast<double>(paths)});
  return points;
}

}  // namespace

void register_divergence(Registry& registry) {
  const auto add = [&](const char* id, const char* what, int group, CurveRule curve) {
    registry.add({.id = id,
                  .what = what,
                  .work = "2 FLOP per FMA; every thread does the same number of FMAs",
                  .quantity = Quantity::kFlopRate,
                  .method_version = 2,  // 1 exceeded the instruction cache
                  .loads = Loads::kCores,
                  .limit = compute_peak({"cuda_core.fp32"}),
                  .curves = {std::move(curve)},
                  .points = path_points()},
                 [group](CudaBench& bench) { divergence(bench, group); });
  };
  constexpr int kWarp = 32;
  add("divergence.lanes",
      "FP32 throughput with the lanes of each warp split over code paths, by path count", 1,
      slowdown_curve("divergence", "paths", "{} paths inside a warp take {} x as long as 1",
                     "lanes_slowdown"));
  add("divergence.warps",
      "FP32 throughput with whole warps split over code paths, by path count: the control", kWarp,
      slowdown_curve("divergence", "paths", "{} paths between warps take {} x as long as 1",
                     "warps_slowdown"));
}

}  // namespace peakline::bench

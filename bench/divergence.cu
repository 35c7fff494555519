#include <cmath>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/divergence.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using kernels::kDivergenceChains;
using kernels::kDivergenceUnroll;

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerSm = 4;
// 0.3 ms with one path, so that launch overhead is small, and 10 ms with 32.
constexpr int kTrips = 1024;
constexpr int kVerifiedTrips = 3;
constexpr auto kA = static_cast<float>(kFmaFactor), kB = static_cast<float>(kFmaAddend);

}  // namespace

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
    std::vector<float> expected = start.to_host();  // by lane; the host is slow at all threads
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

}  // namespace peakline::bench

// What does a partial last wave of tiles cost?

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "bench/catalog.hpp"
#include "bench/gemm/curves.hpp"
#include "bench/gemm/shapes.hpp"

namespace peakline::bench {
namespace {

// M grows tile by tile; N is chosen so that kWaveRows rows are one wave of tiles.

constexpr std::int64_t kWaveRows = 1536;
constexpr std::int64_t kWaveStep = 128;
constexpr std::int64_t kWaveK = 4096;
// In units of kWaveStep: dense around one, two and three waves.
constexpr std::array<std::int64_t, 14> kWaveSteps = {4,  8,  11, 12, 13, 16, 20,
                                                     23, 24, 25, 30, 35, 36, 37};

struct WaveKernel {
  GemmAlgorithm algorithm;
  std::int64_t tile_m = 0, tile_n = 0, n = 0;
};

// The fastest kernel when the tiles fill the SMs exactly once, and the N at which they do.
WaveKernel wave_kernel(CudaBench& bench, const GemmFormat& format) {
  // The tile found in the first round determines N for the second.
  std::int64_t n = kWaveRows;
  for (int round = 0;; ++round) {
    const Product product(bench, format, {.m = kWaveRows, .n = n, .k = kWaveK});
    const GemmAlgorithm algorithm =
        product.best_algorithm(bench, kSweepAlgorithms, kSweepSearchSeconds);
    const auto tile = algorithm.tile();
    if (!tile) throw Skipped("cuBLASLt does not report the tile size of its best kernel");
    const double columns = static_cast<double>(bench.sm_count()) *
                           static_cast<double>(tile->first) / static_cast<double>(kWaveRows);
    n = std::max<std::int64_t>(1, std::llround(columns)) * tile->second;
    if (round == 1) return {algorithm, tile->first, tile->second, n};
  }
}

void waves(CudaBench& bench, const GemmFormat& format) {
  const WaveKernel& kernel = bench.remember<WaveKernel>(std::string("waves.") + format.name,
                                                        [&] { return wave_kernel(bench, format); });
  const GemmShape shape{.m = bench.integer("m"), .n = kernel.n, .k = kWaveK};
  const Product product(bench, format, shape);
  GemmAlgorithm algorithm = kernel.algorithm;
  if (bench.text("kernel") == "best")
    algorithm = product.best_algorithm(bench, kSweepAlgorithms, kSweepSearchSeconds);
  else if (!product.gemm().takes(algorithm))
    throw Skipped("the kernel of the sweep does not support " + shape.name());
  product.prepare(bench, algorithm);
  const auto parts = [](std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
  };
  const std::int64_t tiles = parts(shape.m, kernel.tile_m) * parts(shape.n, kernel.tile_n);
  bench.note("n", shape.n);
  bench.note("k", shape.k);
  bench.note("tile_m", kernel.tile_m);
  bench.note("tile_n", kernel.tile_n);
  bench.note("tiles", tiles);
  bench.measure(product.work(), product.launch(algorithm));
}

std::vector<Point> wave_points() {
  std::vector<Point> points;
  for (const char* kernel : {"fixed", "best"})
    for (const std::int64_t steps : kWaveSteps)
      points.push_back(warm_point({{"m", steps * kWaveStep}, {"kernel", std::string(kernel)}}));
  return points;
}

}  // namespace

void register_gemm_waves(Registry& registry) {
  add_sweep(registry,
            {"waves", "bf16",
             "Throughput of products whose tiles fill the SMs once, twice or three times, or "
             "slightly more",
             waves, wave_points(), waves_curve()});
}

}  // namespace peakline::bench

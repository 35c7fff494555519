// What does a partial last wave of tiles cost?

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "bench/gemm/curves.hpp"
#include "bench/gemm/shapes.hpp"

namespace peakline::bench {
namespace {

// M grows tile by tile of one kernel; N is chosen so that kWaveTiles tiles along M are one wave.

constexpr std::int64_t kTileM = 128;
constexpr std::int64_t kWaveTiles = 12;
constexpr std::int64_t kWaveK = 4096;
// Tiles along M: dense around one, two and three waves.
constexpr std::array<std::int64_t, 14> kTilesAlongM = {4,  8,  11, 12, 13, 16, 20,
                                                       23, 24, 25, 30, 35, 36, 37};

struct WaveKernel {
  GemmAlgorithm algorithm;
  std::int64_t tile_n = 0, n = 0;
};

// The heuristic's first kernel with tiles of kTileM rows for a product that fills the SMs once, and
// the N at which it does.
WaveKernel wave_kernel(CudaBench& bench, const GemmFormat& format) {
  const std::int64_t tiles_along_n =
      std::max<std::int64_t>(1, std::llround(bench.sm_count() / static_cast<double>(kWaveTiles)));
  constexpr std::int64_t kUsualTileN = 256;
  constexpr int kKernels = 16;
  const auto shape = [&](std::int64_t tile_n) {
    return GemmShape{.m = kWaveTiles * kTileM, .n = tiles_along_n * tile_n, .k = kWaveK};
  };
  const Gemm usual(*cublaslt(bench), format.types, shape(kUsualTileN), Layout::kTN);
  for (GemmAlgorithm algorithm : usual.algorithms(kKernels)) {
    const auto tile = algorithm.tile();
    if (!tile || tile->first != kTileM) continue;
    const Gemm gemm(*cublaslt(bench), format.types, shape(tile->second), Layout::kTN);
    if (gemm.takes(algorithm) && algorithm.tiles(gemm.shape()))
      return {algorithm, tile->second, gemm.shape().n};
  }
  throw Skipped("cuBLASLt has no kernel with tiles of 128 rows for " + shape(kUsualTileN).name());
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
  bench.note("n", shape.n);
  bench.note("k", shape.k);
  bench.note("tile_m", kTileM);
  bench.note("tile_n", kernel.tile_n);
  bench.note("tiles", kernel.algorithm.tiles(shape).value());
  bench.measure(product.work(), product.launch(algorithm));
}

std::vector<Point> wave_points() {
  std::vector<Point> points;
  for (const char* kernel : {"fixed", "best"})
    for (const std::int64_t tiles : kTilesAlongM)
      points.push_back(warm_point({{"m", tiles * kTileM}, {"kernel", std::string(kernel)}}));
  return points;
}

}  // namespace

void register_gemm_waves(Registry& registry) {
  add_sweep(registry,
            {"waves",
             "bf16",
             "Throughput of products whose tiles fill the SMs once, twice or three times, or "
             "slightly more",
             waves,
             wave_points(),
             waves_curve(),
             {},
             2});
}

}  // namespace peakline::bench

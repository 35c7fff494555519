#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/gemm/measure_shapes.hpp"

namespace peakline::bench {
namespace {

constexpr std::int64_t kWaveK = 4096;

struct WaveKernel {
  GemmAlgorithm algorithm;
  std::int64_t tile_n = 0, n = 0;
};

// The heuristic's first kernel with tiles of tile_m rows, and the N of one wave of these.
WaveKernel wave_kernel(CudaBench& bench, const GemmFormat& format, std::int64_t tile_m,
                       std::int64_t wave_tiles) {
  const std::int64_t tiles_along_n =
      std::max<std::int64_t>(1, std::llround(bench.sm_count() / static_cast<double>(wave_tiles)));
  constexpr std::int64_t kUsualTileN = 256;
  constexpr int kKernels = 16;
  const auto shape = [&](std::int64_t tile_n) {
    return GemmShape{.m = wave_tiles * tile_m, .n = tiles_along_n * tile_n, .k = kWaveK};
  };
  const Gemm usual(*cublaslt(bench), format.types, shape(kUsualTileN), Layout::kTN);
  for (GemmAlgorithm algorithm : usual.algorithms(kKernels)) {
    const auto tile = algorithm.tile();
    if (!tile || tile->first != tile_m) continue;
    const Gemm gemm(*cublaslt(bench), format.types, shape(tile->second), Layout::kTN);
    if (gemm.takes(algorithm) && algorithm.tiles(gemm.shape()))
      return {algorithm, tile->second, gemm.shape().n};
  }
  throw Skipped("cuBLASLt has no kernel with tiles of " + std::to_string(tile_m) + " rows for " +
                shape(kUsualTileN).name());
}

}  // namespace

void gemm_waves(CudaBench& bench, std::string_view name, std::int64_t tile_m,
                std::int64_t wave_tiles) {
  const GemmFormat& format = gemm_format(name);
  const WaveKernel& kernel = bench.remember<WaveKernel>(std::string("waves.") + format.name, [&] {
    return wave_kernel(bench, format, tile_m, wave_tiles);
  });
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
  bench.note("tile_m", tile_m);
  bench.note("tile_n", kernel.tile_n);
  bench.note("tiles", kernel.algorithm.tiles(shape).value());
  bench.measure(product.work(), product.launch(algorithm));
}

}  // namespace peakline::bench

// What does a partial last wave of tiles cost?

#include "bench/gemm/curves.hpp"
#include "bench/gemm/shapes.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

// Measures with a kernel whose tiles have `tile_m` rows; `wave_tiles` of them along M are one wave.
void gemm_waves(CudaBench& bench, std::string_view format, std::int64_t tile_m,
                std::int64_t wave_tiles);

namespace {

// M grows tile by tile of one kernel; N is chosen so that kWaveTiles tiles along M are one wave.
constexpr std::int64_t kTileM = 128;
constexpr std::int64_t kWaveTiles = 12;
// Tiles along M: dense around one, two and three waves.
constexpr std::array<std::int64_t, 14> kTilesAlongM = {4,  8,  11, 12, 13, 16, 20,
                                                       23, 24, 25, 30, 35, 36, 37};

std::vector<Point> wave_points() {
  std::vector<Point> points;
  for (const char* kernel : {"fixed", "best"})
    for (const std::int64_t tiles : kTilesAlongM)
      points.emplace_back(kWarm).params = {{"m", tiles * kTileM}, {"kernel", kernel}};
  return points;
}

}  // namespace

void register_gemm_waves(Registry& registry) {
  add_sweep(registry, {"waves",
                       "bf16",
                       "Throughput of products whose tiles fill the SMs once, twice or three "
                       "times, or slightly more",
                       on_gpu([](auto& bench) { gemm_waves(bench, "bf16", kTileM, kWaveTiles); }),
                       wave_points(),
                       {waves_curve()},
                       {},
                       {{kWaves, waves_title}},
                       2});
}

}  // namespace peakline::bench

// How much must be in flight to reach the memory's bandwidth and the CUDA cores' rate?

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/conclude/concurrency.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

void occupancy_hbm(CudaBench& bench);
void occupancy_fma(CudaBench& bench);

namespace {

constexpr std::array<std::int64_t, 11> kWarps{1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64};  // per SM
constexpr std::array<std::int64_t, 4> kLoads{1, 2, 4, 8};
// Twice what any memory needs; with more, the threads' registers do not fit.
constexpr std::int64_t kMostLoadsOfSm = 256;
constexpr std::array<std::int64_t, 4> kChains{1, 2, 4, 8};

std::string occupancy_title(const TitleView& view) {
  return fmt::format("90 % of the memory's bandwidth needs at least {} in flight per SM",
                     format_size(view.value({.name = "in_flight_per_sm"})));
}

Picture occupancy_picture() {
  return {.key = "occupancy",
          .subject = "Occupancy: how much must be in flight",
          .how =
              "Each line is a number of independent loads or FMA chains per thread: more of "
              "them stand in for more warps. Memory sees little but the bytes in flight, so "
              "its lines are close; the dotted line marks the fewest bytes with which one of "
              "them reaches 90 % of the bandwidth.",
          .panels = {
              {.over = "in_flight",
               .x = {.label = "bytes in flight per SM",
                     .written = Written::kSize,
                     .scale = Scale::kLog2},
               .y = {.label = "GB/s read, by loads per thread", .per = 1e9, .low = 0},
               .series = {{"{} at a time", {.id = "occupancy.hbm", .figure = "rate"}, "loads"}},
               .marks = {{.label = "fewest for 90 %:",
                          .upright = true,
                          .figure = Numbers{.id = "occupancy.hbm", .figure = "in_flight_per_sm"}}},
               .naming = Naming::kLegend},
              {.over = "warps",
               .x = {.label = "warps per SM", .written = Written::kInteger, .scale = Scale::kLog2},
               .y = {.label = "FP32 TFLOP/s, by chains per thread", .per = 1e12, .low = 0},
               .series = {{"{} at a time", {.id = "occupancy.fma"}, "chains"}},
               .naming = Naming::kLegend}}};
}

}  // namespace

void register_occupancy(Registry& registry) {
  std::vector<Point> shapes;
  for (const std::int64_t warps : kWarps)
    for (const std::int64_t loads : kLoads)
      if (warps * loads <= kMostLoadsOfSm)
        shapes.push_back({.params = {{"warps", warps}, {"loads", loads}}, .seconds = 0.04});
  registry.add(
      {.id = "occupancy.hbm",
       .what =
           "Device memory read bandwidth, by warps per SM and 16-byte loads in flight per thread",
       .work = "bytes read",
       .quantity = Quantity::kByteRate,
       .limit = device_memory_bandwidth(),
       .curves = {bytes_in_flight_curve()},
       .topics = {{"occupancy", occupancy_title, occupancy_picture()}},
       .points = std::move(shapes)},
      on_gpu([](auto& bench) { occupancy_hbm(bench); }));
  std::vector<Point> parallel;
  for (const std::int64_t warps : kWarps)
    for (const std::int64_t chains : kChains)
      parallel.push_back({.params = {{"warps", warps}, {"chains", chains}}, .seconds = 0.03});
  registry.add({.id = "occupancy.fma",
                .what = "FP32 FMA throughput, by warps per SM and independent chains per thread",
                .work = "2 FLOP per FMA and thread",
                .quantity = Quantity::kFlopRate,
                .loads = Loads::kCores,
                .limit = compute_peak({"cuda_core.fp32"}),
                .curves = {chains_curve()},
                .points = std::move(parallel)},
               on_gpu([](auto& bench) { occupancy_fma(bench); }));
}

}  // namespace peakline::bench

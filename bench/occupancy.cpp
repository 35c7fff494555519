// How much must be in flight to reach the rates of memory and CUDA cores?

#include "bench/question.hpp"
#include "harness/conclude/concurrency.hpp"

namespace peakline::bench {

void occupancy_hbm(CudaBench& bench);
void occupancy_fma(CudaBench& bench);

namespace {

// Warps per SM, and loads or FMA chains per thread.
constexpr std::array<std::int64_t, 11> kWarps{1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr std::array<std::int64_t, 4> kParallel{1, 2, 4, 8};
// Twice what any memory needs; with more, the threads' registers do not fit.
constexpr std::int64_t kMostLoadsOfSm = 256;

std::string occupancy_title(const TitleView& view) {
  return fmt::format("90 % of the memory's bandwidth needs at least {} in flight per SM",
                     view.text({.name = "in_flight_per_sm"}));
}

Picture occupancy_picture() {
  return {
      .key = "occupancy",
      .subject = "Occupancy: how much must be in flight",
      .how =
          "Each line is a number of independent loads or FMA chains per thread: more of them stand "
          "in for more warps. Memory sees little but the bytes in flight, so its lines are close; "
          "the dotted line marks the fewest bytes with which one of them reaches 90 % of the "
          "bandwidth.",
      .panels = {{.over = "in_flight",
                  .x = size_axis("bytes in flight per SM"),
                  .y = {.label = "GB/s read, by loads per thread", .per = 1e9, .low = 0},
                  .series = {{"{} at a time", {.id = "occupancy.hbm", .figure = "rate"}, "loads"}},
                  .marks = {{.label = "fewest for 90 %:",
                             .upright = true,
                             .figure = Numbers{"occupancy.hbm", "in_flight_per_sm"}}},
                  .naming = Naming::kLegend},
                 {.over = "warps",
                  .x = count_axis("warps per SM"),
                  .y = {.label = "FP32 TFLOP/s, by chains per thread", .per = 1e12, .low = 0},
                  .series = {{"{} at a time", {.id = "occupancy.fma"}, "chains"}},
                  .naming = Naming::kLegend}}};
}

}  // namespace

void register_occupancy(Registry& registry) {
  auto shapes = points_over({{"warps", values_of(kWarps)}, {"loads", values_of(kParallel)}},
                            {.seconds = 0.04});
  std::erase_if(shapes, [](const Point& point) {
    return *int_param(point.params, "warps") * *int_param(point.params, "loads") > kMostLoadsOfSm;
  });
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
  registry.add(
      {.id = "occupancy.fma",
       .what = "FP32 FMA throughput, by warps per SM and independent chains per thread",
       .work = "2 FLOP per FMA and thread",
       .quantity = Quantity::kFlopRate,
       .loads = Loads::kCores,
       .limit = compute_peak({"cuda_core.fp32"}),
       .curves = {chains_curve()},
       .points = points_over({{"warps", values_of(kWarps)}, {"chains", values_of(kParallel)}},
                             {.seconds = 0.03})},
      on_gpu([](auto& bench) { occupancy_fma(bench); }));
}

}  // namespace peakline::bench

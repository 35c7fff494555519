// How much must be in flight to reach the rates of memory and CUDA cores?

#include "bench/question.hpp"

namespace peakline::bench {

void occupancy_hbm(CudaBench& bench);
void occupancy_fma(CudaBench& bench);

namespace {

constexpr const char* kTopic = "occupancy";

// Warps per SM, and loads or FMA chains of each.
constexpr std::array<std::int64_t, 11> kWarps{1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr std::array<std::int64_t, 4> kParallel{1, 2, 4, 8};
// Twice what any memory needs; with more, the threads' registers do not fit.
constexpr std::int64_t kMostLoadsOfSm = 256;

std::string occupancy_title(const TitleView& view) {
  std::string text =
      fmt::format("90 % of the memory's bandwidth needs at least {} in flight per SM",
                  view.text({.name = "in_flight_per_sm"}));
  if (const Figure* warps = view.find({.name = "warps_per_sm", .by = {{"chains", 1}}}))
    text += fmt::format(", 95 % of the FP32 rate {:.0f} warps", warps->value);
  return text;
}

Picture occupancy_picture() {
  return {
      .key = "occupancy",
      .subject = "Occupancy: how much must be in flight",
      .how =
          "More independent loads or FMA chains in each thread stand in for more warps. Memory "
          "sees little but the bytes in flight.",
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

constexpr double kBandwidthShare = 0.9, kFmaShare = 0.95;
constexpr double kBytesOfWarp = 32 * 16;  // a load of 16 bytes by each thread

// The bytes in flight that a share of the bandwidth of hbm.read, else of the highest rate here,
// needs; beside them idle latency x bandwidth.
void summarize_bytes_in_flight(const CurveView& curve, Figures& figures) {
  std::vector<Amount> points;
  double top = 0;
  for (const CurvePoint& point : sweep(curve, "warps")) {
    const auto loads = int_param(point.m->params, "loads");
    if (!loads) continue;
    const double in_flight = point.x * static_cast<double>(*loads) * kBytesOfWarp;
    points.push_back({in_flight, *point.m->value});
    figures.add("rate", *point.m->value,
                {{"loads", *loads}, {"in_flight", std::llround(in_flight)}});
    top = std::max(top, *point.m->value);
  }
  const auto ceiling = curve.ceiling("hbm.read", Basis::kMeasured);
  const double bandwidth = ceiling.value_or(top);
  const auto bytes = amount_for(points, kBandwidthShare * bandwidth);
  if (!bytes || curve.device == nullptr || !curve.device->sm_count) return;
  figures.add("in_flight_per_sm", *bytes);
  figures.add("in_flight", *bytes * *curve.device->sm_count);
  if (const Measurement* latency = curve.measurement("latency.hbm"))
    figures.add("latency_times_bandwidth", *latency->value * bandwidth);
}

// The fewest warps that reach kFmaShare of the FP32 rate per clock.
void summarize_chains(const CurveView& curve, Figures& figures) {
  const auto points = sweep(curve, "warps");
  if (points.empty()) return;
  // Per clock, as some points lower it.
  const auto rate = [](const CurvePoint& point) {
    return *point.m->value / point.m->conditions.sm_clock_hz.value_or(1);
  };
  for (const CurvePoint& point : points)
    if (!point.m->conditions.sm_clock_hz) return;
  const double top = rate(std::ranges::max(points, {}, rate));
  std::map<std::int64_t, double> warps;  // fewest, by chains
  for (const CurvePoint& point : points)
    if (const auto chains = int_param(point.m->params, "chains");
        chains && rate(point) >= kFmaShare * top)
      warps.try_emplace(*chains, point.x);
  for (const auto& [chains, fewest] : warps)
    figures.add("warps_per_sm", fewest, {{"chains", chains}});
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
       .curves = {{kTopic,
                   {{"rate", "B/s", {"loads", "in_flight"}},
                    {"in_flight_per_sm", "B"},
                    {"in_flight", "B"},
                    {"latency_times_bandwidth", "B"}},
                   summarize_bytes_in_flight}},
       .topics = {{kTopic, occupancy_title, occupancy_picture()}},
       .points = std::move(shapes)},
      on_gpu([](auto& bench) { occupancy_hbm(bench); }));
  registry.add(
      {.id = "occupancy.fma",
       .what = "FP32 FMA throughput, by warps per SM and independent chains per thread",
       .work = "2 FLOP per FMA and thread",
       .quantity = Quantity::kFlopRate,
       .loads = Loads::kCores,
       .limit = compute_peak({"cuda_core.fp32"}),
       .curves = {{kTopic, {{"warps_per_sm", unit::kCount, {"chains"}}}, summarize_chains}},
       .points = points_over({{"warps", values_of(kWarps)}, {"chains", values_of(kParallel)}},
                             {.seconds = 0.03})},
      on_gpu([](auto& bench) { occupancy_fma(bench); }));
}

}  // namespace peakline::bench

// How fast are the caches, and how much do they hold?

#include "bench/question.hpp"

namespace peakline::bench {

void l1_read(CudaBench& bench);
// in_flight_of_l1, in_flight_of_l2: bytes in flight per SM, by the cache that is read through.
void cache_sweep(CudaBench& bench, std::size_t in_flight_of_l1, std::size_t in_flight_of_l2);

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int kPointsPerOctave = 4;

// One curve of the sweep, per SM. Footprints above `least` are multiples of the bytes in flight.
struct Sweep {
  const char* through;
  std::size_t in_flight, least, to;
};
// An H200's L1 needs 16 KiB in flight (8 KiB: 74 % of the rate); in smaller parts warps share data.
constexpr Sweep kThroughL1{"l1", 16 * kKiB, 8 * kKiB, 512 * kKiB};
// Past the L1; on an H200 from 8 MiB to 17 times its 60 MiB of L2.
constexpr Sweep kThroughL2{"l2", 64 * kKiB, 64 * kKiB, 8 * kMiB};

std::vector<Point> sweep_points() {
  std::vector<Point> points;
  for (const Sweep& sweep : {kThroughL1, kThroughL2}) {
    std::set<std::size_t> sizes = {sweep.least};
    const auto octaves = static_cast<int>(std::log2(sweep.to / sweep.in_flight));
    for (int i = 0; i <= octaves * kPointsPerOctave; ++i)
      sizes.insert(sweep.in_flight * static_cast<std::size_t>(std::lround(
                                         std::exp2(static_cast<double>(i) / kPointsPerOctave))));
    for (const std::size_t bytes : sizes)
      points.push_back({.params = {{"through", std::string(sweep.through)},
                                   {"sm_bytes", static_cast<std::int64_t>(bytes)}},
                        .seconds = 0.035});
  }
  return points;
}

std::string caches_title(const TitleView& view) {
  const auto held = [&](const char* level) {
    return view.text({.role = role::kHeldByRate, .by = {{"level", level}}});
  };
  return fmt::format("Reads keep the rate of the L1 up to {} per SM, and that of the L2 up to {}",
                     held("l1"), held("l2"));
}

Picture caches_picture() {
  const auto held = [](const char* figure, const char* level) {
    return Numbers{.id = "cache.sweep", .figure = figure, .where = {{"level", level}}};
  };
  return {
      .key = "cache",
      .subject = "Caches: read bandwidth against the footprint",
      .how =
          "Each SM reads its own part of the footprint again and again. A line falls where a level "
          "no longer holds all of it: through the L1 where a part exceeds the SM's L1, past the L1 "
          "where the whole exceeds the L2. Dotted lines mark the sizes found, that of the L1s of "
          "all SMs together.",
      .panels = {
          {.over = "footprint",
           .x = size_axis("footprint of all SMs together"),
           .y = {.label = "GB/s read", .per = 1e9, .scale = Scale::kLog10},
           .series = {{"{}", {.id = "cache.sweep", .figure = "rate"}, "through"}},
           .marks = {{.label = "L1, theoretical", .resource = "l1.read", .basis = "theoretical"},
                     {.label = "L1", .upright = true, .figure = held("held_by_all_sms", "l1")},
                     {.label = "L2", .upright = true, .figure = held("held", "l2")}},
           .names = {{"l1", "through the L1"}, {"l2", "past the L1"}},
           .naming = Naming::kEndsWithValue}}};
}

}  // namespace

void register_cache(Registry& registry) {
  registry.add({.id = "l1.read",
                .what = "L1 read bandwidth: each SM goes over 32 KiB",
                .work = "bytes read by threads",
                .quantity = Quantity::kByteRate,
                .loads = Loads::kCores,
                .estimate = Estimate::kTrimmedMean,  // the clock is at one of two steps
                .limit = on_chip_bandwidth(),
                .ceilings = {{.resource = resource("l1.read")}},
                .points = {{.rule = Rule::kFull, .seconds = 0.8}}},
               on_gpu([](auto& bench) { l1_read(bench); }));
  registry.add(
      {.id = "cache.sweep",
       .what = "Read bandwidth by the footprint of each SM, through the L1 and past it",
       .work = "bytes read by threads",
       .quantity = Quantity::kByteRate,
       .limit = on_chip_bandwidth(),
       .curves = {cache_curve("caches")},
       .topics = {{"caches", caches_title, caches_picture()}},
       .points = sweep_points()},
      on_gpu([](auto& bench) { cache_sweep(bench, kThroughL1.in_flight, kThroughL2.in_flight); }));
}

}  // namespace peakline::bench

// How fast are the caches, and how much do they hold?

#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/device_view.hpp"

namespace peakline::bench {

void l1_read(CudaBench& bench);
// in_flight_of_l1, in_flight_of_l2: bytes in flight per SM, by the cache that is read through.
void cache_sweep(CudaBench& bench, std::size_t in_flight_of_l1, std::size_t in_flight_of_l2);

namespace {

constexpr const char* kTopic = "caches";
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
  std::vector<std::string> l2;
  if (view.facts != nullptr && view.facts->l2_bytes)
    l2.push_back(format_size(*view.facts->l2_bytes) + " as the driver states");
  if (const Ceiling* fastest = view.view.ceiling("l2.read", Basis::kMeasured))
    l2.push_back(format_rate(fastest->value, fastest->unit) + " at most");
  l2.push_back(fmt::format("{} for footprints up to {}",
                           view.text({.name = "rate", .by = {{"level", "l2"}}}), held("l2")));
  return fmt::format("L2: {}; the L1 keeps its rate up to {} per SM", joined(l2), held("l1"));
}

Picture caches_picture() {
  const auto held = [](const char* figure, const char* level) {
    return Numbers{.id = "cache.sweep", .figure = figure, .where = {{"level", level}}};
  };
  return {
      .key = "cache",
      .subject = "Caches: read bandwidth against the footprint",
      .how =
          "Each SM reads its own part of the footprint again and again. The rate falls where a "
          "level no longer holds all of it: through the L1 where a part exceeds the SM's L1, "
          "past the L1 where the whole exceeds the L2. Marked are the sizes found, that of the "
          "L1s of all SMs together.",
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

// Share of a level's lead over the next one within the footprints that it holds. Replacement is
// roughly random, so the lead fades over an octave beyond.
constexpr double kHeld = 0.8;
// A lead that lasts an octave longer is that of a farther part.
constexpr double kHeldFarther = 0.35, kFarther = 1.6;
// Closer levels cannot be told apart.
constexpr double kLevelsApart = 1.1;

// Median rate over the first or last octave of a sweep.
double rate_at_start(const std::vector<CurvePoint>& points) {
  std::vector<double> rates;
  for (const CurvePoint& point : points)
    if (point.x <= 2 * points.front().x) rates.push_back(point.value());
  return median(rates);
}
double rate_at_end(const std::vector<CurvePoint>& points) {
  std::vector<double> rates;
  for (const CurvePoint& point : points)
    if (point.x >= points.back().x / 2) rates.push_back(point.value());
  return median(rates);
}

// Median rate over footprints up to this.
double rate_up_to(double bytes, const std::vector<CurvePoint>& points) {
  std::vector<double> rates;
  for (const CurvePoint& point : points)
    if (point.x <= bytes) rates.push_back(point.value());
  return median(rates);
}

// The last footprint with `share` of the lead of the sweep's start over its end; nullopt without a
// lead.
std::optional<double> held_bytes(const std::vector<CurvePoint>& points, double share) {
  if (points.empty()) return std::nullopt;
  const double start = rate_at_start(points), end = rate_at_end(points);
  if (start < kLevelsApart * end) return std::nullopt;
  const auto beyond = std::ranges::find_if(
      points, [&](const CurvePoint& p) { return p.value() < end + share * (start - end); });
  if (beyond == points.begin() || beyond == points.end()) return std::nullopt;
  return std::prev(beyond)->x;
}

// A level's rate is that of its smallest footprints; it holds those with most of its lead over the
// next level. If a smaller lead then lasts, the L2 has a near part, which alone has the full rate.
// Nothing for a level without a visible end.
void summarize_caches(const CurveView& curve, Figures& figures) {
  const auto l1 = sweep_where(curve, "sm_bytes", "through", std::string("l1"));
  const auto held_by_l1 = held_bytes(l1, kHeld);
  if (held_by_l1) {
    figures.add("rate", rate_up_to(*held_by_l1, l1), {{"level", "l1"}});
    figures.add("held", *held_by_l1, {{"level", "l1"}});
  }
  if (curve.device == nullptr || !curve.device->sm_count) return;
  const double sms = *curve.device->sm_count;
  for (const char* through : {"l1", "l2"})
    for (const CurvePoint& point : sweep_where(curve, "sm_bytes", "through", std::string(through)))
      figures.add("rate", point.value(),
                  {{"through", through}, {"footprint", std::llround(point.x * sms)}});
  if (held_by_l1) figures.add("held_by_all_sms", *held_by_l1 * sms, {{"level", "l1"}});
  auto l2 = sweep_where(curve, "sm_bytes", "through", std::string("l2"));
  for (CurvePoint& point : l2) point.x *= sms;
  const auto held = held_bytes(l2, kHeld), farther = held_bytes(l2, kHeldFarther);
  if (!held || !farther) return;
  const bool parts = *farther > kFarther * *held;
  figures.add("rate", rate_up_to(*held, l2), {{"level", "l2"}});
  figures.add("held", parts ? *farther : *held, {{"level", "l2"}});
  if (parts) figures.add("full_rate_up_to", *held, {{"level", "l2"}});
  figures.add("rate", rate_at_end(l2), {{"level", "hbm"}});
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
                .points = {{.timing = Timing::kFull, .seconds = 0.8}}},
               on_gpu([](auto& bench) { l1_read(bench); }));
  registry.add(
      {.id = "cache.sweep",
       .what = "Read bandwidth by the footprint of each SM, through the L1 and past it",
       .work = "bytes read by threads",
       .quantity = Quantity::kByteRate,
       .limit = on_chip_bandwidth(),
       .curves = {{kTopic,
                   {{"rate", "B/s", {"level"}},
                    {"rate", "B/s", {"through", "footprint"}},
                    {"held", "B", {"level"}, role::kHeldByRate},
                    {"held_by_all_sms", "B", {"level"}},
                    {"full_rate_up_to", "B", {"level"}, role::kFullRate}},
                   summarize_caches}},
       .topics = {{kTopic, caches_title, caches_picture()}},
       .points = sweep_points()},
      on_gpu([](auto& bench) { cache_sweep(bench, kThroughL1.in_flight, kThroughL2.in_flight); }));
}

}  // namespace peakline::bench

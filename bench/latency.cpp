// How long does one load take, at each level of memory?

#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {

void latency_shared(CudaBench& bench);
void latency_dsmem(CudaBench& bench);
// bytes: footprint of lines in random order, through all caches.
void latency_within(CudaBench& bench, std::uint64_t bytes);
void latency_sweep(CudaBench& bench);
void latency_l2(CudaBench& bench);
void latency_pcie(CudaBench& bench);
void latency_stride_past_l1(CudaBench& bench);
void latency_stride_past_l2(CudaBench& bench);

namespace {

constexpr const char* kTopic = "memory latency";
constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
// Far inside the L1 of any device.
constexpr std::int64_t kL1Bytes = 16 * kKiB;
// Many times any L2: a walk that visits each line once never hits.
constexpr std::int64_t kHbmBytes = kGiB;

// Footprints of the sweep, denser where caches end.
std::vector<ParamValue> footprints() {
  struct Range {
    std::int64_t from, to, an_octave;
  };
  constexpr std::array<Range, 6> kRanges{{{kKiB, 64 * kKiB, 1},
                                          {64 * kKiB, 512 * kKiB, 4},
                                          {512 * kKiB, 8 * kMiB, 1},
                                          {8 * kMiB, 256 * kMiB, 4},
                                          {256 * kMiB, kGiB, 1},
                                          {kGiB, 128 * kGiB, 2}}};
  std::vector<ParamValue> all;
  for (const Range& range : kRanges)
    for (std::int64_t octave = range.from; octave < range.to; octave *= 2)
      for (std::int64_t i = 0; i < range.an_octave; ++i)
        all.emplace_back(octave + octave / range.an_octave * i);
  all.emplace_back(kRanges.back().to);
  return all;
}

std::string latency_title(const TitleView& view) {
  const Params near = {{"level", "l2"}, {"part", "near"}};
  const Figure* held = view.find({.role = role::kHeldByLatency, .by = {{"level", "l2"}}});
  const Figure* near_held = view.find({.role = role::kNearHeld, .by = {{"level", "l2"}}});
  std::string text =
      fmt::format("A load takes {} from device memory, {} from the near part of the L2",
                  view.text({.role = role::kLatency, .by = {{"level", "hbm"}}}),
                  view.text({.role = role::kLatency, .by = near}));
  if (held != nullptr)
    text += fmt::format("; by latency, the L2 holds {}", format_size(held->value));
  if (held != nullptr && near_held != nullptr)
    text += fmt::format(", {} of it near an SM", format_size(near_held->value));
  return text;
}

std::string memory_map_title(const TitleView& view) {
  const auto latency = [&](const char* id) {
    const Measurement* m = view.measurement(id);
    if (m == nullptr) throw Missing();
    return *m->value;
  };
  const auto rate = [&](const char* resource) {
    return view.ceiling(resource, Basis::kMeasured).value;
  };
  return fmt::format("From L1 to device memory, latency grows {} x, bandwidth falls {} x",
                     format_number(latency("latency.hbm") / latency("latency.l1")),
                     format_number(rate("l1.read") / rate("hbm.read")));
}

Picture latency_picture() {
  const auto level = [](const char* label, const char* id, Params part = {}) -> Mark {
    return {.label = label, .figure = Numbers{id, "latency", std::move(part)}};
  };
  return {.key = "latency",
          .subject = "Latency: how long a load takes, by footprint",
          .how =
              "One load at a time goes over lines in random order and takes longer with each level "
              "that no longer holds the footprint, at last the TLB. At random means sectors of 32 "
              "bytes, read by all SMs.",
          .panels = {{.over = "bytes",
                      .x = size_axis("footprint"),
                      .y = {.label = "latency", .written = Written::kTime, .scale = Scale::kLog10},
                      .series = {{"", {.id = "latency.sweep"}}},
                      .marks = {level("L1", "latency.l1"),
                                level("L2, near part", "latency.l2", {{"part", "near"}}),
                                level("L2, far part", "latency.l2", {{"part", "far"}}),
                                level("memory", "latency.hbm")},
                      .naming = Naming::kEndsWithValue},
                     {.over = "bytes",
                      .x = size_axis("footprint"),
                      .y = {.label = "GB/s of random sectors", .per = 1e9, .low = 0},
                      .series = {{"", {.id = "random.gather"}}}}}};
}

constexpr double kFlat = 1.05;
// The near part of an L2 ends at this share of the step to the far part: its last footprint varies
// from the near plateau to 7 % above it between runs.
constexpr double kEndOfNear = 0.25;
constexpr std::size_t kFewestOfPlateau = 3;
// L1 and shared memory are one memory, at most this factor larger than the most shared memory.
constexpr double kL1OverShared = 1.5;
// Latencies of mixed hits and misses above this share count as misses.
constexpr double kNearlyAll = 0.9;

double seconds_of(const CurvePoint& point) { return *point.m->value; }

// The last x with nearly the highest latency; nullopt if it is the last of all.
std::optional<double> last_before_fall(const std::vector<CurvePoint>& points) {
  if (points.empty()) return std::nullopt;
  const double high = kNearlyAll * seconds_of(std::ranges::max(points, {}, seconds_of));
  const auto found = std::find_if(points.rbegin(), points.rend(),
                                  [&](const CurvePoint& p) { return seconds_of(p) >= high; });
  if (found == points.rbegin()) return std::nullopt;
  return found->x;
}

// The first x with nearly the highest latency; nullopt if it is the first of all.
std::optional<double> end_of_rise(const std::vector<CurvePoint>& points) {
  if (points.empty()) return std::nullopt;
  const double high = kNearlyAll * seconds_of(std::ranges::max(points, {}, seconds_of));
  const auto found =
      std::ranges::find_if(points, [&](const CurvePoint& p) { return seconds_of(p) >= high; });
  if (found == points.begin()) return std::nullopt;
  return found->x;
}

// Neighbouring footprints with equal latency.
struct Plateau {
  double from_bytes = 0, to_bytes = 0;
  double seconds = 0;  // median
};
struct LatencyPoint {
  double bytes = 0, seconds = 0;
};

// Plateaus of at least three points within 5 % of one another. points: footprints ascending.
std::vector<Plateau> plateaus(std::span<const LatencyPoint> points) {
  std::vector<Plateau> found;
  for (std::size_t begin = 0; begin < points.size();) {
    std::vector<double> seconds;
    double low = points[begin].seconds, high = low;
    std::size_t end = begin;
    for (; end < points.size(); ++end) {
      low = std::min(low, points[end].seconds);
      high = std::max(high, points[end].seconds);
      if (high > kFlat * low) break;
      seconds.push_back(points[end].seconds);
    }
    if (seconds.size() < kFewestOfPlateau) {
      ++begin;
      continue;
    }
    found.push_back({points[begin].bytes, points[end - 1].bytes, median(seconds)});
    begin = end;
  }
  return found;
}

// Latency by "part" where the level has parts. level: "l1".
CurveRule latency_of(const std::string& level) {
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    for (const Measurement* m : curve.points) {
      Params by = {{"level", level}};
      if (const auto part = text_param(m->params, "part")) by.emplace_back("part", *part);
      figures.add("latency", *m->value, by);
      if (const auto clock_hz = m->conditions.sm_clock_hz)
        figures.add("cycles", *m->value * *clock_hz, by);
    }
  };
  return {kTopic,
          {{"latency", "s", {"level"}, role::kLatency},
           {"latency", "s", {"level", "part"}, role::kLatency},
           {"cycles", "cycles", {"level"}},
           {"cycles", "cycles", {"level", "part"}}},
          summarize};
}

// Plateaus of latency by footprint that end below the sizes of L1 (known with shared memory) and
// L2, and what follows.
void summarize_steps(const CurveView& curve, Figures& figures) {
  if (curve.device == nullptr) return;
  std::vector<LatencyPoint> points;
  for (const CurvePoint& point : sweep(curve, "bytes"))
    points.push_back({point.x, seconds_of(point)});
  const double l1 = kL1OverShared * curve.device->shared_per_sm_bytes.value_or(0);
  const double l2 = curve.device->l2_bytes.value_or(0);
  std::optional<Plateau> in_l1, in_near_l2, in_l2, in_memory;
  for (const Plateau& plateau : plateaus(points)) {
    if (plateau.to_bytes > l1 && plateau.to_bytes <= l2)
      in_near_l2 = std::exchange(in_l2, plateau);
    else
      (plateau.to_bytes <= l1 ? in_l1 : in_memory) = plateau;
  }
  if (in_near_l2) {
    const double end_s = in_near_l2->seconds + kEndOfNear * (in_l2->seconds - in_near_l2->seconds);
    for (const LatencyPoint& point : points)
      if (point.bytes < in_l2->from_bytes && point.seconds <= end_s)
        in_near_l2->to_bytes = std::max(in_near_l2->to_bytes, point.bytes);
  }
  if (in_l1) figures.add("held", in_l1->to_bytes, {{"level", "l1"}});
  if (in_near_l2) figures.add("near_held", in_near_l2->to_bytes, {{"level", "l2"}});
  if (in_l2) figures.add("held", in_l2->to_bytes, {{"level", "l2"}});
  if (!in_memory) return;
  figures.add("plateau", in_memory->seconds);
  figures.add("plateau_up_to", in_memory->to_bytes);
  if (points.back().bytes <= in_memory->to_bytes) return;
  figures.add("largest", points.back().seconds);
  figures.add("largest_footprint", points.back().bytes);
}

// Lines and what is filled at a time, from latencies by "stride" beyond a cache. In random order,
// used lines fit from twice the line size on; in address order, latency rises until elements no
// longer share a fill.
CurveRule line_size(const std::string& level) {
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    const auto line =
        last_before_fall(sweep_where(curve, "stride", "order", std::string("random")));
    if (!line) return;
    figures.add("line", *line, {{"level", level}});
    // Larger strides make the footprint fit.
    auto rising = sweep_where(curve, "stride", "order", std::string("sequential"));
    std::erase_if(rising, [&](const CurvePoint& p) { return p.x > *line; });
    if (const auto sector = end_of_rise(rising)) figures.add("sector", *sector, {{"level", level}});
  };
  return {kTopic,
          {{"line", "B", {"level"}, role::kLine}, {"sector", "B", {"level"}, role::kSector}},
          summarize};
}

}  // namespace

void register_latency(Registry& registry) {
  const Point one{.timing = Timing::kFull, .seconds = 0.4}, brief{.seconds = 0.03};
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.work = "seconds of one load, each of which waits for the one before";
    registry.add(std::move(benchmark), std::move(run));
  };
  add({.id = "latency.shared",
       .what = "Latency of shared memory",
       .curves = {latency_of("shared")},
       .points = {one}},
      on_gpu([](auto& bench) { latency_shared(bench); }));
  add({.id = "latency.dsmem",
       .what = "Latency of the next block's shared memory, by blocks in a cluster",
       .curves = {waits_curve(kTopic, "blocks")},
       .points = points_over("blocks", {2, 4, 8, 16}, brief)},
      on_gpu([](auto& bench) { latency_dsmem(bench); }));
  add({.id = "latency.l1",
       .what = "Latency of the L1 cache",
       .curves = {latency_of("l1")},
       .points = {one}},
      on_gpu([](auto& bench) { latency_within(bench, kL1Bytes); }));
  add({.id = "latency.l2",
       .what = "Latency of the L2 cache: the part near to an SM, and what lies beyond it",
       .curves = {latency_of("l2")},
       .points = points_over("part", {"near", "far"}, one)},
      on_gpu([](auto& bench) { latency_l2(bench); }));
  add({.id = "latency.hbm",
       .what = "Latency of device memory, within 1 GiB",
       .curves = {latency_of("hbm")},
       .topics = {{kTopic, latency_title, latency_picture()}, {"memory map", memory_map_title}},
       .points = {one}},
      on_gpu([](auto& bench) { latency_within(bench, kHbmBytes); }));
  add({.id = "latency.pcie",
       .what = "Latency of host memory, read by the device over the link",
       .loads = Loads::kLink,
       // The host answers: 2.6 % (standard deviation) on 32 cards, at most 9 % below their mean.
       .varies_with = VariesWith::kCollectives,
       .curves = {latency_of("host")},
       .points = {{.phase = Phase::kLink, .timing = Timing::kFull, .seconds = 0.4}}},
      on_gpu([](auto& bench) { latency_pcie(bench); }));
  add({.id = "latency.sweep",
       .what = "Latency of lines in random order, by footprint",
       .curves = {{kTopic,
                   {{"held", "B", {"level"}, role::kHeldByLatency},
                    {"near_held", "B", {"level"}, role::kNearHeld},
                    {"plateau", "s"},
                    {"plateau_up_to", "B"},
                    {"largest", "s"},
                    {"largest_footprint", "B"}},
                   summarize_steps}},
       .points = points_over("bytes", footprints(), brief)},
      on_gpu([](auto& bench) { latency_sweep(bench); }));
  add({.id = "latency.stride",
       .what = "Latency in a footprint beyond the L1, by stride and order",
       .curves = {line_size("l1")},
       .points = points_over(
           {{"order", {"random", "sequential"}}, {"stride", {512, 256, 128, 64, 32, 16, 8}}},
           brief)},
      on_gpu([](auto& bench) { latency_stride_past_l1(bench); }));
  // Read in order of address, the device memory's granularity would show, which alignment.*
  // measures.
  add({.id = "latency.stride.l2",
       .what = "Latency in a footprint beyond the L2, by stride",
       .curves = {line_size("l2")},
       .points = points_over({{"order", {"random"}}, {"stride", {512, 256, 128, 64, 32}}}, brief)},
      on_gpu([](auto& bench) { latency_stride_past_l2(bench); }));
}

}  // namespace peakline::bench

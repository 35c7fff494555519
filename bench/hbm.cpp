// How fast is device memory, by access pattern, access width and footprint?

#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {

void hbm_read(CudaBench& bench);
void hbm_write(CudaBench& bench);
void hbm_copy(CudaBench& bench);
void hbm_triad(CudaBench& bench);
void hbm_memcpy(CudaBench& bench);
void hbm_memset(CudaBench& bench);

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// Sizes of all arrays together. The smallest exceeds most L2s, and shows the cost of a launch.
constexpr std::array<std::int64_t, 6> kFootprints{kGiB / 4, kGiB / 2, kGiB,
                                                  2 * kGiB, 4 * kGiB, 8 * kGiB};
// Launch overhead is at most 0.3 % of its time.
constexpr std::int64_t kCeilingFootprint = 8 * kGiB;
// Version 2: 8 GiB, one tile per block.
constexpr int kMethod = 2;

std::vector<Point> copy_points() {
  auto points = points_over("bytes", values_of(kFootprints), {.seconds = 0.1});
  points.back().timing = Timing::kFull;
  points.back().seconds = 0.3;
  return points;
}

// How the rate grows with the footprint depends on the memory, not on the width, so only the widest
// access has all footprints. whole_memory: reads and writes show what copies and triads would.
std::vector<Point> pattern_points(bool whole_memory) {
  auto points =
      points_over({{"width", {16}}, {"bytes", values_of(kFootprints)}}, {.seconds = 0.12});
  for (const std::int64_t width : {8, 4})
    points.push_back({.params = {{"width", width}, {"bytes", kCeilingFootprint}}});
  for (Point& point : points) {
    if (int_param(point.params, "bytes") != kCeilingFootprint) continue;
    point.timing = Timing::kFull;
    point.quick = int_param(point.params, "width") == 16;
    point.seconds = 0.5;
  }
  if (whole_memory)
    points.push_back({.params = {{"width", 16}, {"footprint", "memory"}}, .seconds = 0.6});
  return points;
}

constexpr const char* kBySize = "device memory by size";

std::string hbm_title(const TitleView& view) {
  const Ceiling& read = view.ceiling("hbm.read", Basis::kMeasured);
  const double theory = view.ceiling("hbm.read", Basis::kTheoretical).value;
  return fmt::format("{} read: {}, {} of theoretical",
                     view.facts != nullptr ? memory_name(*view.facts) : kAnyMemory,
                     format_rate(read.value, "B/s"), format_percent(read.value / theory));
}

Picture hbm_picture() {
  std::vector<PictureSeries> patterns, sizes;
  for (const std::string name : {"read", "write", "copy", "triad", "memcpy", "memset"}) {
    const std::string id = "hbm." + name;
    const bool driver = name.starts_with("mem");
    patterns.push_back({name, {.id = id, .where = {{"bytes", kCeilingFootprint}}}});
    sizes.push_back({name, {.id = id, .where = driver ? Params{} : Params{{"width", 16}}}});
  }
  return {.key = "hbm",
          .subject = "Device memory: patterns and widths",
          .how =
              "Memory is read and written with accesses of 1 to 16 bytes per thread; cudaMemcpy "
              "and cudaMemset choose their width themselves. A copy counts the bytes it reads and "
              "the bytes it writes.",
          .panels = {
              {.kind = PanelKind::kDots,
               .by = "width",
               .x = {.label = "GB/s, read + written, by access width", .per = 1e9, .low = 0},
               .series = std::move(patterns),
               .marks = {{.label = "theoretical", .resource = "hbm.read", .basis = "theoretical"}},
               .names =
                   {{"4", "4 bytes"}, {"8", "8 bytes"}, {"16", "16 bytes"}, {"", "by the driver"}}},
              {.over = "bytes",
               .x = size_axis("footprint"),
               .y = {.label = "GB/s, widest access", .per = 1e9, .low = 0},
               .series = std::move(sizes),
               .naming = Naming::kEndsWithValue}}};
}

constexpr const char* kByWidth = "device memory by width";

std::string width_title(const TitleView& view) {
  const auto rates = view.all({.name = "rate"});
  const Figure &narrow = *rates.front(), &wide = *rates.back();
  const auto width = [](const Figure& f) { return to_string(*find_param(f.by, "width")); };
  return fmt::format("{} bytes per thread read at {}, {} at {}", width(narrow),
                     format_value(narrow.value, narrow.unit), width(wide),
                     format_value(wide.value, wide.unit));
}

// The highest rate by access width, at sizes large enough for ceilings; and its clock, where that
// was throttled.
void summarize_widths(const CurveView& curve, Figures& figures) {
  std::map<std::int64_t, const Measurement*> best;  // by width
  for (const CurvePoint& point : sweep(curve, "bytes")) {
    const auto width = int_param(point.m->params, "width");
    if (!width || point.x < kCeilingFootprintBytes) continue;
    const Measurement*& m = best[*width];
    if (m == nullptr || *m->value < point.value()) m = point.m;
  }
  if (best.size() < 2) return;
  for (const auto& [width, m] : best) {
    figures.add("rate", *m->value, {{"width", width}});
    const auto& clock_hz = m->conditions.sm_clock_hz;
    const auto& max_hz = curve.device != nullptr ? curve.device->sm_clock_max_hz : std::nullopt;
    if (m->flags.throttled && clock_hz && max_hz && *clock_hz < kFullClockShare * *max_hz)
      figures.add("throttled_to", *clock_hz, {{"width", width}});
  }
}

// A line fitted to the times over the bytes, whose inverse slope is the rate without launch
// overhead, and the rate over all memory. Both are for the widest access.
CurveRule by_size() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    std::int64_t widest = 0;
    for (const CurvePoint& point : sweep(curve, "width"))
      widest = std::max(widest, static_cast<std::int64_t>(point.x));
    std::vector<double> bytes, times;
    const Measurement* whole = nullptr;
    for (const Measurement* m : curve.points) {
      if (int_param(m->params, "width") != widest) continue;
      if (!int_param(m->params, "bytes")) {
        whole = m;
        continue;
      }
      bytes.push_back(m->work.bytes());
      times.push_back(m->summary->median);
    }
    if (const auto line = line_through_sizes(bytes, times)) {
      figures.add("fixed", std::max(line->fixed, 0.0));
      figures.add("slope", 1 / line->per_item);
    }
    if (whole == nullptr) return;
    figures.add("whole_memory", *whole->value);
    figures.add("whole_size", whole->work.bytes());
  };
  return {kBySize,
          {{"fixed", "s"}, {"slope", "B/s"}, {"whole_memory", "B/s"}, {"whole_size", "B"}},
          summarize};
}

}  // namespace

void register_hbm(Registry& registry, const std::vector<int>& gpus) {
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.quantity = Quantity::kByteRate;
    benchmark.method_version = kMethod;
    benchmark.limit = device_memory_bandwidth();
    benchmark.ceilings = {
        {.resource = resource(benchmark.id), .counts = at_least("bytes", kCeilingFootprintBytes)}};
    registry.add(std::move(benchmark), std::move(run));
  };
  constexpr const char* kBoth = "bytes read plus bytes written";
  add({.id = "hbm.read",
       .what = "Device memory read bandwidth, by access width and footprint",
       .work = "bytes read",
       .curves = {{kByWidth,
                   {{"rate", "B/s", {"width"}}, {"throttled_to", "Hz", {"width"}}},
                   summarize_widths},
                  by_size()},
       .topics = {{kBySize, hbm_title, hbm_picture()}, {kByWidth, width_title}},
       .points = pattern_points(true)},
      on_gpu([](auto& bench) { hbm_read(bench); }));
  add({.id = "hbm.write",
       .what = "Device memory write bandwidth, by access width and footprint",
       .work = "bytes written",
       .curves = {by_size()},
       .points = pattern_points(true)},
      on_gpu([](auto& bench) { hbm_write(bench); }));
  add({.id = "hbm.copy",
       .what = "Device memory copy bandwidth of a kernel, by access width and footprint",
       .work = kBoth,
       .curves = {by_size()},
       .points = pattern_points(false)},
      on_gpu([](auto& bench) { hbm_copy(bench); }));
  add({.id = "hbm.triad",
       .what = "Device memory bandwidth of a = b + s * c in FP32, by access width and footprint",
       .work = "bytes read (b, c) plus bytes written (a)",
       .curves = {by_size()},
       .points = pattern_points(false)},
      on_gpu([](auto& bench) { hbm_triad(bench); }));
  add({.id = "hbm.memcpy",
       .what = "Bandwidth of cudaMemcpyAsync within device memory, by footprint",
       .work = kBoth,
       .points = copy_points()},
      on_gpu([](auto& bench) { hbm_memcpy(bench); }));
  add({.id = "hbm.memset",
       .what = "Bandwidth of cudaMemsetAsync, by footprint",
       .work = "bytes written",
       .points = copy_points()},
      on_gpu([](auto& bench) { hbm_memset(bench); }));
  registry.add(
      {.id = "hbm.concurrent",
       .what = "Device memory read bandwidth of each GPU while all read",
       .work = "bytes read by one GPU",
       .quantity = Quantity::kByteRate,
       .limit = device_memory_bandwidth(),
       .curves = {concurrent_curve("GPUs at once", Quantity::kByteRate,
                                   [](const DeviceFacts&) { return std::string("hbm.read"); })},
       .points = concurrent_points(gpus, {.params = {{"width", 16}, {"bytes", kCeilingFootprint}},
                                          .phase = Phase::kNodeLoad,
                                          .timing = Timing::kFull,
                                          .seconds = 0.5})},
      on_gpu([](auto& bench) { hbm_read(bench); }));
}

}  // namespace peakline::bench

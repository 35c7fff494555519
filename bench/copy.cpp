// Which way of copying from global to shared memory is fastest, and how large must a copy be?

#include "bench/copy_tiles.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void copy_hbm(CudaBench& bench);
void copy_l2(CudaBench& bench);
void copy_latency(CudaBench& bench);

namespace {

constexpr const char* kTopic = "copies to shared memory";

// Names as in CUDA's documentation: "cp_async" is "cp.async".
std::string way_label(const std::string& way) {
  if (way == "plain") return "plain loads";
  if (way == "cp_async") return "cp.async";
  if (way == "tensor_1d") return "1D tensor";
  if (way == "tensor_2d") return "2D tensor";
  return way;
}

std::string copies_title(const TitleView& view) {
  // The ways are compared at the largest tile that plain loads copy.
  std::int64_t tile = 0;
  for (const Figure* plain : view.all({.name = "latency", .by = {{"way", "plain"}}}))
    tile = std::max(tile, *int_param(plain->by, "tile"));
  const Figure& best = view.least({.name = "latency", .by = {{"tile", tile}}});
  const double plain_s = view.value({.name = "latency", .by = {{"way", "plain"}, {"tile", tile}}});
  std::string text = fmt::format("Copying {} from the L2 takes {} with plain loads",
                                 format_size(static_cast<double>(tile)), format_time(plain_s));
  const std::string way = *text_param(best.by, "way");
  if (way != "plain")
    text += fmt::format(", {} with {}{}", format_time(best.value), way_label(way),
                        way == "cp_async" ? "" : " copies");
  return text;
}

std::vector<Point> points_of() {
  std::vector<Point> points;
  for (const CopyTile& tile : kCopyTiles)
    points.push_back(
        {.params = {{"way", std::string(tile.way)}, {"tile", tile.bytes}}, .seconds = 0.05});
  return points;
}

Picture copies_picture() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const CopyTile& tile : kCopyTiles)
    if (names.empty() || names.back().first != tile.way)
      names.emplace_back(tile.way, way_label(std::string(tile.way)));
  const auto panel = [&](const char* id, const char* label, double per) -> Panel {
    return {.over = "tile",
            .x = size_axis("size of one copy"),
            .y = {.label = label, .per = per, .low = 0},
            .series = {{"{}", {.id = id}, "way"}},
            .names = names,
            .naming = Naming::kLegend};
  };
  return {.key = "copies",
          .subject = "Copies to shared memory: which way, and how large",
          .how =
              "Plain loads go through registers, cp.async bypasses them; both move 16 bytes per "
              "lane. Bulk and tensor copies are started by one lane and carried out by the SM's "
              "Tensor Memory Accelerator. Rates are those of the best number of warps on "
              "an SM; for the time of one copy, a warp waits for each before the next.",
          .panels = {panel("copy.hbm", "GB/s from memory", 1e9),
                     panel("copy.l2", "GB/s from the L2", 1e9),
                     panel("copy.latency", "ns, one copy alone", 1e-9)}};
}

// A size is enough from this share of the highest rate of all ways on.
constexpr double kNear = 0.9;

// The highest rate of each "way", and its smallest "tile" near the highest rate of all.
CurveRule copy_rate() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    double top = 0;
    for (const Measurement* m : curve.points) top = std::max(top, *m->value);
    for (const std::string& way : values_in(curve, "way")) {
      const auto points = sweep_where(curve, "tile", "way", way);
      if (points.empty()) continue;
      figures.add("rate", std::ranges::max(points, {}, &CurvePoint::value).value(), {{"way", way}});
      const auto enough = std::ranges::find_if(
          points, [&](const CurvePoint& p) { return p.value() >= kNear * top; });
      if (enough != points.end()) figures.add("enough_from", enough->x, {{"way", way}});
    }
  };
  return {kTopic, {{"rate", "B/s", {"way"}}, {"enough_from", "B", {"way"}}}, summarize};
}

void summarize_latency(const CurveView& curve, Figures& figures) {
  for (const CurvePoint& point : sweep(curve, "tile"))
    if (const auto way = text_param(point.m->params, "way"))
      figures.add("latency", point.value(), {{"way", *way}, {"tile", std::llround(point.x)}});
}

}  // namespace

void register_copy(Registry& registry) {
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.points = points_of();
    registry.add(std::move(benchmark), std::move(run));
  };
  constexpr const char* kOnce = "bytes copied, counted once";
  add({.id = "copy.hbm",
       .what = "Bandwidth of copies from device to shared memory, by way and size",
       .work = kOnce,
       .quantity = Quantity::kByteRate,
       .limit = device_memory_bandwidth(),
       .curves = {copy_rate()}},
      on_gpu([](auto& bench) { copy_hbm(bench); }));
  add({.id = "copy.l2",
       .what = "Bandwidth of copies from the L2 to shared memory, by way and size",
       .work = kOnce,
       .quantity = Quantity::kByteRate,
       .loads = Loads::kCores,
       // Each byte is written to shared memory, whose data path is the bound; NVIDIA states none of
       // the L2.
       .limit = on_chip_bandwidth(),
       .curves = {copy_rate()}},
      on_gpu([](auto& bench) { copy_l2(bench); }));
  add({.id = "copy.latency",
       .what = "Time of one copy from the L2 to shared memory, by way and size",
       .work = "seconds from its start until a word of it has been read",
       .loads = Loads::kCores,
       .curves = {{kTopic, {{"latency", "s", {"way", "tile"}}}, summarize_latency}},
       .topics = {{kTopic, copies_title, copies_picture()}}},
      on_gpu([](auto& bench) { copy_latency(bench); }));
}

}  // namespace peakline::bench

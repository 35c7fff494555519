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
              "Tensor Memory Accelerator. In the first two panels the number of warps that share "
              "an SM is the best one; in the third a warp waits for each copy.",
          .panels = {panel("copy.hbm", "GB/s from memory", 1e9),
                     panel("copy.l2", "GB/s from the L2", 1e9),
                     panel("copy.latency", "ns, one copy alone", 1e-9)}};
}

// A size is enough from this share of the highest rate of all ways on.
constexpr double kNear = 0.9;

// "from memory: plain loads 4310 GB/s, cp.async 4420 GB/s, ..., 90 % of the best from 2 KiB (all)":
// the highest rate of each "way", and the smallest "tile" near the highest rate of all.
CurveRule copy_rate(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    double top = 0;
    for (const Measurement* m : curve.points) top = std::max(top, *m->value);
    std::vector<std::string> parts;
    std::map<double, std::vector<std::string>> enough_from;  // ways by size
    for (const std::string& way : values_in(curve, "way")) {
      const auto points = sweep_where(curve, "tile", "way", way);
      if (points.empty()) continue;
      const double best = std::ranges::max(points, {}, &CurvePoint::value).value();
      parts.push_back(fmt::format("{} {}", way_label(way), format_rate(best, "B/s")));
      sentence.figure("rate", best, {{"way", way}});
      const auto enough = std::ranges::find_if(
          points, [&](const CurvePoint& p) { return p.value() >= kNear * top; });
      if (enough == points.end()) continue;
      enough_from[enough->x].push_back(way_label(way));
      sentence.figure("enough_from", enough->x, {{"way", way}});
    }
    std::vector<std::string> sizes;
    for (const auto& [bytes, ways] : enough_from)
      sizes.push_back(fmt::format(
          "{} ({})", format_size(bytes),
          enough_from.size() == 1 && ways.size() == parts.size() ? "all" : joined(ways)));
    std::string text = fmt::format("{}: {}", label, fmt::join(parts, ", "));
    if (!sizes.empty())
      text += fmt::format(", {:.0f} % of the best from {}", kNear * 100, fmt::join(sizes, ", "));
    sentence.add(std::move(text));
  };
  return {kTopic, {{"rate", "B/s", {"way"}}, {"enough_from", "B", {"way"}}}, summarize};
}

// "one copy of 512 B: plain loads 640 ns, cp.async 700 ns, ...".
void summarize_latency(const CurveView& curve, Sentence& sentence) {
  std::map<double, std::vector<std::string>> by_tile;
  for (const CurvePoint& point : sweep(curve, "tile")) {
    const auto way = text_param(point.m->params, "way");
    if (!way) continue;
    by_tile[point.x].push_back(fmt::format("{} {}", way_label(*way), format_time(point.value())));
    sentence.figure("latency", point.value(), {{"way", *way}, {"tile", std::llround(point.x)}});
  }
  for (const auto& [tile, parts] : by_tile)
    sentence.add(fmt::format("one copy of {}: {}", format_size(tile), fmt::join(parts, ", ")));
}

}  // namespace

void register_copy(Registry& registry) {
  const auto add = [&](const char* id, const char* what, const char* work, Quantity quantity,
                       Loads loads, Limit limit, CurveRule curve, Run run,
                       std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = quantity,
                  .loads = loads,
                  .limit = std::move(limit),
                  .curves = {std::move(curve)},
                  .topics = std::move(topics),
                  .points = points_of()},
                 std::move(run));
  };
  constexpr const char* kOnce = "bytes copied, counted once";
  add("copy.hbm", "Bandwidth of copies from device to shared memory, by way and size", kOnce,
      Quantity::kByteRate, Loads::kMemory, device_memory_bandwidth(), copy_rate("from memory"),
      on_gpu([](auto& bench) { copy_hbm(bench); }));
  // Each byte is written to shared memory, whose data path is the bound; NVIDIA states none of the
  // L2.
  add("copy.l2", "Bandwidth of copies from the L2 to shared memory, by way and size", kOnce,
      Quantity::kByteRate, Loads::kCores, on_chip_bandwidth(), copy_rate("from the L2"),
      on_gpu([](auto& bench) { copy_l2(bench); }));
  add("copy.latency", "Time of one copy from the L2 to shared memory, by way and size",
      "seconds from its start until a word of it has been read", Quantity::kTime, Loads::kCores, {},
      {kTopic, {{"latency", "s", {"way", "tile"}}}, summarize_latency},
      on_gpu([](auto& bench) { copy_latency(bench); }), {{kTopic, copies_title, copies_picture()}});
}

}  // namespace peakline::bench

// What does a small all-reduce cost in a CUDA graph, as inference engines run it, and from which
// size on is NCCL the fastest?

#include "bench/all_reduce.hpp"

#include "bench/question.hpp"

namespace peakline::bench {

void measure_all_reduce(NodeBench& bench, AllReduceBy by);

namespace {

constexpr const char *kTopic = "small collectives", *kNccl = "nccl.all_reduce.graph",
                     *kSymmetric = "nccl.all_reduce.symmetric",
                     *kOneShot = "collective.one_shot.all_reduce",
                     *kTwoShot = "collective.two_shot.all_reduce";
// One token's activations of a small model, up to those of a large batch. Before them the least: a
// vector for each rank.
constexpr std::int64_t kKiBytes = 1024, kVector = 16;
constexpr std::array<std::int64_t, 9> kSizes{0, 8, 32, 128, 256, 512, 1024, 2048, 4096};  // KiB

std::vector<Point> points(const std::vector<int>& gpus) {
  const auto ranks = static_cast<std::int64_t>(gpus.size()), least = kVector * ranks;
  std::vector<ParamValue> sizes;
  for (const std::int64_t size : kSizes) {
    const std::int64_t bytes = std::max(size * kKiBytes, std::int64_t{1});
    sizes.emplace_back((bytes + least - 1) / least * least);
  }
  return points_over({{"ranks", {ranks}}, {"bytes", sizes}},
                     {.phase = Phase::kNode, .seconds = 0.05, .gpus = gpus});
}

// Times by size, and the size from which on NCCL is faster, up to the largest.
void summarize(const CurveView& curve, Figures& figures) {
  const auto all = sweep(curve, "bytes");
  if (all.empty()) return;
  figures.add("smallest", all.front().value());
  std::optional<double> nccl_from;
  for (const CurvePoint& point : all) {
    figures.add("time", point.value(), {{"bytes", std::llround(point.x)}});
    const Measurement* nccl = curve.measurement(point_name(kNccl, point.m->params));
    if (nccl == nullptr || point.m->id == kNccl || *nccl->value > point.value())
      nccl_from.reset();
    else if (!nccl_from)
      nccl_from = point.x;
  }
  if (nccl_from) figures.add("nccl_from", *nccl_from);
}

CurveRule curve() {
  return {kTopic, {{"smallest", "s"}, {"time", "s", {"bytes"}}, {"nccl_from", "B"}}, summarize};
}

std::string title(const TitleView& view) {
  constexpr std::int64_t kToldBytes = 8 * kKiBytes;
  // Sizes are multiples of a vector for each rank.
  const auto told = [&](const char* id) {
    for (const Figure* time : view.all({.id = id, .name = "time"}))
      if (*int_param(time->by, "bytes") >= kToldBytes) return format_time(time->value);
    throw Missing();
  };
  std::string text = fmt::format("In a CUDA graph an all-reduce of {} takes {} by NCCL",
                                 format_size(kToldBytes), told(kNccl));
  if (view.find({.id = kSymmetric, .name = "time"}) != nullptr)
    text += fmt::format(", {} by its kernels for symmetric memory", told(kSymmetric));
  text += fmt::format(", {} by peakline's one-shot kernel, {} by its two-shot kernel",
                      told(kOneShot), told(kTwoShot));
  const Figure *one = view.find({.id = kOneShot, .name = "nccl_from"}),
               *two = view.find({.id = kTwoShot, .name = "nccl_from"});
  if (one != nullptr && two != nullptr)
    text += fmt::format("; NCCL is the fastest from {} on",
                        format_value(std::max(one->value, two->value), "B"));
  return text;
}

Picture picture() {
  const auto times = [](const char* label, const char* id) {
    return PictureSeries{label, {.id = id, .figure = "time"}};
  };
  return {
      .key = "small-collectives",
      .subject = "Small all-reduces: what a layer split over GPUs waits for",
      .how =
          "All-reduces of BF16 that follow one another in a CUDA graph, by NCCL and by kernels of "
          "peakline: one-shot, every GPU sends everything to all others; two-shot, each sums a "
          "part and sends the sum.",
      .panels = {
          {.over = "bytes",
           .x = {.label = "bytes of the array", .written = Written::kSize, .scale = Scale::kLog2},
           .y = {.label = "µs per all-reduce", .per = 1e-6, .low = 0},
           .series = {times("NCCL", kNccl), times("NCCL, symmetric", kSymmetric),
                      times("one-shot", kOneShot), times("two-shot", kTwoShot)}}}};
}

}  // namespace

void register_all_reduce(Registry& registry, const std::vector<int>& gpus) {
  const auto add = [&](AllReduceBy by, const char* id, const char* what,
                       std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = "device seconds per operation of a graph of 64",
                  .loads = Loads::kLink,
                  .varies_with = VariesWith::kCollectives,
                  .limit = no_limit("what waits for flags between GPUs has no rate"),
                  .curves = {curve()},
                  .topics = std::move(topics),
                  .points = points(gpus)},
                 on_node([by](auto& bench) { measure_all_reduce(bench, by); }));
  };
  add(AllReduceBy::kNccl, kNccl, "Time of a small NCCL all-reduce of BF16 in a CUDA graph",
      {{kTopic, title, picture()}});
  add(AllReduceBy::kNcclSymmetric, kSymmetric,
      "The same by NCCL's kernels for symmetric memory, where it has them");
  add(AllReduceBy::kOneShot, kOneShot,
      "Time of an all-reduce of BF16 in a CUDA graph, one-shot: all GPUs send to all");
  add(AllReduceBy::kTwoShot, kTwoShot,
      "The same two-shot: each GPU sums a part, then sends it to all");
}

}  // namespace peakline::bench

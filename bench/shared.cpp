// How fast is shared memory: the block's own, with bank conflicts, and another block's?

#include "bench/question.hpp"

namespace peakline::bench {

void shared_read(CudaBench& bench);
void shared_write(CudaBench& bench);
void shared_conflicts(CudaBench& bench);
void dsmem_read(CudaBench& bench);

namespace {

constexpr std::int64_t kLanes = 32;  // of a warp
constexpr const char* kConflicts = "bank conflicts";
constexpr const char* kDistributed = "distributed shared memory";

CurveRule cluster_curve() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    for (const CurvePoint& point : sweep(curve, "cluster"))
      figures.add("rate", point.value(), {{"cluster", std::llround(point.x)}});
  };
  return {kDistributed, {{"rate", "B/s", {"cluster"}}}, summarize};
}

std::string conflicts_title(const TitleView& view) {
  return fmt::format("A read whose lanes all hit one bank takes {} x as long",
                     format_number(view.value({.name = "slowdown", .by = {{"ways", kLanes}}})));
}

std::string clusters_title(const TitleView& view) {
  const double own = view.value({.by = {{"cluster", 1}}});
  double least = 0, most = 0;
  for (const Figure* rate : view.all({.name = "rate"})) {
    if (int_param(rate->by, "cluster") == 1) continue;
    const double slower = own / rate->value;
    least = least == 0 ? slower : std::min(least, slower);
    most = std::max(most, slower);
  }
  if (most == 0) throw Missing();
  const std::string low = fmt::format("{:.0f}", least), high = fmt::format("{:.0f}", most);
  return fmt::format("Another SM's shared memory is {} x slower than one's own",
                     low == high ? low : low + " to " + high);
}

Picture conflicts_picture() {
  return {.key = "conflicts",
          .subject = "Bank conflicts: what they cost",
          .how =
              "Each lane reads 4 bytes; so many lanes need different words of the same bank. 1 is "
              "a read without conflicts; at worst the bank serves one lane after another.",
          .panels = {{.over = "ways",
                      .x = count_axis("lanes of a warp that hit the same bank"),
                      .y = count_axis("time, as a multiple of a read without conflicts"),
                      .series = {{"measured", {.id = "shared.conflicts", .figure = "slowdown"}}},
                      .marks = {{.label = "one lane after another", .diagonal = true}},
                      .naming = Naming::kEndsWithValue}}};
}

Picture clusters_picture() {
  return {
      .key = "dsmem",
      .subject = "Distributed shared memory: what another SM's shared memory costs",
      .how =
          "Each block reads the shared memory of the next block in its cluster, which runs on "
          "a nearby SM, or its own for comparison.",
      .panels = {
          {.kind = PanelKind::kBars,
           .x = {.label = "GB/s read by all SMs together", .per = 1e9},
           .series =
               {{"its own", {.id = "dsmem.read", .where = {{"cluster", 1}}}},
                {"in a cluster of 2", {.id = "dsmem.read", .where = {{"cluster", 2}}}, "", 1},
                {"in a cluster of 4", {.id = "dsmem.read", .where = {{"cluster", 4}}}, "", 1},
                {"in a cluster of 8", {.id = "dsmem.read", .where = {{"cluster", 8}}}, "", 1},
                {"in a cluster of 16", {.id = "dsmem.read", .where = {{"cluster", 16}}}, "", 1}}},
          {.kind = PanelKind::kBars,
           .x = {.label = "time of one load", .written = Written::kTime},
           .series = {{"its own", {.id = "latency.shared"}},
                      {"in a cluster of {}", {.id = "latency.dsmem"}, "blocks", 1}}}}};
}

}  // namespace

void register_shared(Registry& registry) {
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.quantity = Quantity::kByteRate;
    benchmark.loads = Loads::kCores;
    benchmark.limit = on_chip_bandwidth();
    registry.add(std::move(benchmark), std::move(run));
  };
  const std::vector<Point> ceiling = {{.timing = Timing::kFull, .seconds = 0.6}};
  add({.id = "shared.read",
       .what = "Shared memory read bandwidth: 16 bytes a thread, without bank conflicts",
       .work = "bytes read by threads",
       .ceilings = {{.resource = resource("shared.read")}},
       .points = ceiling},
      on_gpu([](auto& bench) { shared_read(bench); }));
  add({.id = "shared.write",
       .what = "Shared memory write bandwidth: 16 bytes a thread, without bank conflicts",
       .work = "bytes written by threads",
       .ceilings = {{.resource = resource("shared.write")}},
       .points = ceiling},
      on_gpu([](auto& bench) { shared_write(bench); }));
  add({.id = "shared.conflicts",
       .what = "Shared memory read bandwidth, by the lanes of a warp that meet in a bank",
       .work = "bytes read by threads, 4 each",
       .curves = {slowdown_curve(kConflicts, "ways")},
       .topics = {{kConflicts, conflicts_title, conflicts_picture()}},
       .points = points_over("ways", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}, {.seconds = 0.06})},
      on_gpu([](auto& bench) { shared_conflicts(bench); }));
  add({.id = "dsmem.read",
       .what = "Bandwidth of reading the next block's shared memory, by blocks in a cluster",
       .work = "bytes read by threads",
       .curves = {cluster_curve()},
       .topics = {{kDistributed, clusters_title, clusters_picture()}},
       .points = points_over("cluster", {1, 2, 4, 8, 16}, {.seconds = 0.06})},
      on_gpu([](auto& bench) { dsmem_read(bench); }));
}

}  // namespace peakline::bench

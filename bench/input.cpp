// How fast can fresh data reach the GPU through page-locked memory?

#include "bench/question.hpp"
#include "bench/storage_file.hpp"

namespace peakline::bench {

void input_pipeline(CudaBench& bench);

namespace {

constexpr std::int64_t kMiB = 1 << 20;
// For page-locking the buffers.
constexpr double kSetUpSeconds = 1.5;

// The best of each source.
CurveRule pipeline_curve() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    for (const char* source : {"storage", "page_cache"}) {
      const Measurement* best = nullptr;
      for (const Measurement* m : curve.points)
        if (text_param(m->params, "source") == source &&
            (best == nullptr || *m->value > *best->value))
          best = m;
      if (best == nullptr) continue;
      const Params by = {{"source", source}};
      figures.add("rate", *best->value, by);
      figures.add("block", static_cast<double>(*int_param(best->params, "block")), by);
      figures.add("threads", static_cast<double>(*int_param(best->params, "threads")), by);
    }
  };
  return {"input",
          {{"rate", "B/s", {"source"}},
           {"block", "B", {"source"}},
           {"threads", unit::kCount, {"source"}}},
          summarize};
}

std::string input_title(const TitleView& view) {
  return fmt::format(
      "Fresh data reach the GPU at {} from storage",
      view.text({.id = "input.pipeline", .name = "rate", .by = {{"source", "storage"}}}));
}

std::vector<Point> input_points() {
  auto points = points_over(
      {{"source", {"storage", "page_cache"}}, {"block", {kMiB, 8 * kMiB}}, {"threads", {1, 4, 16}}},
      {.phase = Phase::kLink,
       .seconds = kStorageSeconds + kSetUpSeconds,
       .load_s = kStorageLoadSeconds});
  for (Point& point : points) point.quick = int_param(point.params, "threads") == 16;
  return points;
}

}  // namespace

void register_input(Registry& registry, bool storage) {
  if (!storage) return;
  registry.add(
      {.id = "input.pipeline",
       .what =
           "Bandwidth from storage (--storage) through page-locked memory to the GPU, overlapped, "
           "by block and threads",
       .work = "bytes that reach the GPU",
       .quantity = Quantity::kByteRate,
       .loads = Loads::kLink,
       .estimate = Estimate::kMean,
       .varies_with = VariesWith::kCpu,
       .limit = only_bound(host_link(1), "storage may be slower than the link"),
       .ceilings = {{.resource = resource("input.pipeline"), .counts = where("source", "storage")}},
       .curves = {pipeline_curve()},
       .topics = {{"input", input_title}},
       .option = "--storage",
       .points = input_points()},
      on_gpu([](auto& bench) { input_pipeline(bench); }));
}

}  // namespace peakline::bench

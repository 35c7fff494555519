// How fast can fresh data reach the GPU, through page-locked memory or directly from storage?

#include "bench/question.hpp"
#include "bench/storage_file.hpp"

namespace peakline::bench {

void input_pipeline(CudaBench& bench);
void input_direct(CudaBench& bench);

namespace {

constexpr std::int64_t kMiB = 1 << 20;
// For page-locking the buffers.
constexpr double kSetUpSeconds = 1.5;

using Points = std::vector<const Measurement*>;

const Measurement* best_of(const Points& points) {
  const auto best = std::ranges::max_element(points, {}, [](const auto* m) { return *m->value; });
  return best == points.end() ? nullptr : *best;
}

// "2.1 GB/s (blocks of 8 MiB, 16 threads)"
std::string rate_and_how(const Measurement& m) {
  return fmt::format("{} (blocks of {}, {})", format_value(*m.value, m.unit),
                     format_size(static_cast<double>(*int_param(m.params, "block"))),
                     format_count(*int_param(m.params, "threads"), "thread"));
}

// Figure rate by source.
CurveRule pipeline_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    for (const char* source : {"storage", "page_cache"}) {
      Points points;
      for (const Measurement* m : curve.points)
        if (text_param(m->params, "source") == source) points.push_back(m);
      const Measurement* const best = best_of(points);
      if (best == nullptr) continue;
      sentence.figure("rate", *best->value, {{"source", source}});
      sentence.add(fmt::format("from {} {}", spaced(source), rate_and_how(*best)));
    }
  };
  return {"input", {{"rate", "B/s", {"source"}}}, summarize};
}

// Figure rate.
CurveRule direct_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    const Measurement* const best = best_of({curve.points.begin(), curve.points.end()});
    if (best == nullptr) return;
    sentence.figure("rate", *best->value);
    sentence.add("by GPUDirect Storage " + rate_and_how(*best));
  };
  return {"input", {{"rate", "B/s"}}, summarize};
}

std::string input_title(const TitleView& view) {
  std::string title = fmt::format(
      "Fresh data reach the GPU at {} from storage",
      view.text({.id = "input.pipeline", .name = "rate", .by = {{"source", "storage"}}}));
  const FigureQuery direct{.id = "input.direct", .name = "rate"};
  if (view.find(direct) != nullptr) title += ", past host memory at " + view.text(direct);
  return title;
}

// Points by block, threads and `swept`.
std::vector<Point> input_points(std::vector<Swept> swept) {
  swept.push_back({"block", {kMiB, 8 * kMiB}});
  swept.push_back({"threads", {1, 4, 16}});
  auto points = points_over(swept, {.phase = Phase::kLink,
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
       .points = input_points({{"source", {"storage", "page_cache"}}})},
      on_gpu([](auto& bench) { input_pipeline(bench); }));
  registry.add(
      {.id = "input.direct",
       .what = "Bandwidth from storage (--storage) to the GPU by GPUDirect Storage, past host "
               "memory, by block and threads",
       .work = "bytes that reach the GPU",
       .quantity = Quantity::kByteRate,
       .loads = Loads::kLink,
       .estimate = Estimate::kMean,
       .varies_with = VariesWith::kCpu,
       .limit = only_bound(host_link(1), "storage may be slower than the link"),
       .ceilings = {{.resource = resource("input.direct")}},
       .curves = {direct_curve()},
       .option = "--storage",
       .points = input_points({})},
      on_gpu([](auto& bench) { input_direct(bench); }));
}

}  // namespace peakline::bench

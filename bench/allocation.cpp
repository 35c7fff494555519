// What does memory cost before it is used?

#include "bench/question.hpp"

namespace peakline::bench {

void allocation_malloc(CudaBench& bench);
void allocation_free(CudaBench& bench);
void allocation_pool(CudaBench& bench);
void allocation_pinned(CudaBench& bench);
void allocation_register(CudaBench& bench);
void allocation_first_touch(CudaBench& bench);

namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
// The cost of the call itself is negligible beside that of so many pages.
constexpr std::int64_t kManyPages = 64 * kMiB;

constexpr const char* kTopic = "allocation";

std::string allocation_title(const TitleView& view) {
  const auto gib = [&](const char* id) {
    return view.text({.id = id, .name = "time", .by = {{"bytes", kGiB}}});
  };
  return fmt::format("1 GiB takes {} from cudaMalloc, {} from a pool that holds it",
                     gib("allocation.malloc"), gib("allocation.pool"));
}

// Times of the smallest and the largest size.
CurveRule size_cost() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, "bytes");
    for (const CurvePoint& point : points)
      if (&point == &points.front() || &point == &points.back())
        figures.add("time", point.value(), {{"bytes", std::llround(point.x)}});
  };
  return {kTopic, {{"time", "s", {"bytes"}}}, summarize};
}

// Time per GiB at the largest size, by "pages" if they have kinds.
CurveRule gib_cost() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const auto add = [&](const std::vector<CurvePoint>& points, Params by) {
      if (!points.empty())
        figures.add("time_per_gib", points.back().value() / points.back().x * kGiB, std::move(by));
    };
    const auto kinds = values_in(curve, "pages");
    if (kinds.empty()) add(sweep(curve, "bytes"), {});
    for (const std::string& pages : kinds)
      add(sweep_where(curve, "bytes", "pages", pages), {{"pages", pages}});
  };
  return {
      kHostMemory, {{"time_per_gib", "s/GiB"}, {"time_per_gib", "s/GiB", {"pages"}}}, summarize};
}

}  // namespace

void register_allocation(Registry& registry) {
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.loads = Loads::kLink;
    benchmark.varies_with = VariesWith::kCpu;
    registry.add(std::move(benchmark), std::move(run));
  };
  const char* const of_call = "host seconds per call";
  const auto sizes = points_over("bytes", {4 * kKiB, 256 * kKiB, 16 * kMiB, kGiB},
                                 {.phase = Phase::kLink, .seconds = 0.05});
  auto large =
      points_over("bytes", {kMiB, 16 * kMiB, kManyPages}, {.phase = Phase::kLink, .seconds = 0.2});
  large.back().seconds = 0.4;
  const auto pages = points_over({{"pages", {"small", "huge"}}, {"bytes", {kManyPages}}},
                                 {.phase = Phase::kLink, .seconds = 0.3});
  add({.id = "allocation.malloc",
       .what = "Time of cudaMalloc, by size",
       .work = of_call,
       .curves = {size_cost()},
       .topics = {{kTopic, allocation_title}},
       .points = sizes},
      on_gpu([](auto& bench) { allocation_malloc(bench); }));
  add({.id = "allocation.free",
       .what = "Time of cudaFree, by size",
       .work = of_call,
       .curves = {size_cost()},
       .points = sizes},
      on_gpu([](auto& bench) { allocation_free(bench); }));
  add({.id = "allocation.pool",
       .what = "Time of cudaMallocAsync and cudaFreeAsync, by size",
       .work = "host seconds of both calls, from a pool that holds the memory",
       .curves = {size_cost()},
       .points = sizes},
      on_gpu([](auto& bench) { allocation_pool(bench); }));
  add({.id = "allocation.pinned",
       .what = "Time of cudaHostAlloc, by size",
       .work = of_call,
       .curves = {gib_cost()},
       .points = std::move(large)},
      on_gpu([](auto& bench) { allocation_pinned(bench); }));
  add({.id = "allocation.register",
       .what = "Time of cudaHostRegister of memory that was touched, by page size",
       .work = of_call,
       .curves = {gib_cost()},
       .points = pages},
      on_gpu([](auto& bench) { allocation_register(bench); }));
  add({.id = "allocation.first_touch",
       .what = "Time of the first write to every page of host memory",
       .work = "host seconds, one thread",
       .curves = {gib_cost()},
       .points = pages},
      on_gpu([](auto& bench) { allocation_first_touch(bench); }));
}

}  // namespace peakline::bench

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

// "cudaMalloc 1 MiB in 80 us, 1 GiB in 410 us": smallest and largest size.
CurveRule size_cost(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "bytes");
    if (points.empty()) return;
    std::vector<std::string> parts;
    for (const CurvePoint* point : {&points.front(), &points.back()}) {
      if (!parts.empty() && points.size() == 1) break;
      parts.push_back(fmt::format("{} in {}", format_size(point->x), format_time(point->value())));
      sentence.figure("time", point->value(), {{"bytes", std::llround(point->x)}});
    }
    sentence.add(label, parts);
  };
  return {"allocation", {{"time", "s", {"bytes"}}}, summarize};
}

// "cudaHostAlloc 340 ms per GiB", or by "pages": "first touch 250 ms per GiB in small pages, ...",
// at the largest size.
CurveRule gib_cost(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    const auto add = [&](const std::vector<CurvePoint>& points, const std::string& pages) {
      if (points.empty()) return;
      const double per_gib = points.back().value() / points.back().x * kGiB;
      parts.push_back(format_time(per_gib) + " per GiB" +
                      (pages.empty() ? "" : " in " + pages + " pages"));
      sentence.figure("time_per_gib", per_gib, pages.empty() ? Params{} : Params{{"pages", pages}});
    };
    const auto kinds = values_in(curve, "pages");
    if (kinds.empty()) add(sweep(curve, "bytes"), "");
    for (const std::string& pages : kinds) add(sweep_where(curve, "bytes", "pages", pages), pages);
    sentence.add(label, parts);
  };
  return {
      kHostMemory, {{"time_per_gib", "s/GiB"}, {"time_per_gib", "s/GiB", {"pages"}}}, summarize};
}

}  // namespace

void register_allocation(Registry& registry) {
  const auto add = [&](std::string id, const char* what, const char* work, CurveRule curve,
                       std::vector<Point> points, Run run) {
    registry.add({.id = std::move(id),
                  .what = what,
                  .work = work,
                  .loads = Loads::kLink,
                  .varies_with = VariesWith::kCpu,
                  .curves = {std::move(curve)},
                  .points = std::move(points)},
                 std::move(run));
  };
  const char* const of_call = "host seconds per call";
  const auto sizes = points_over("bytes", {4 * kKiB, 256 * kKiB, 16 * kMiB, kGiB},
                                 {.phase = Phase::kLink, .seconds = 0.05});
  auto large =
      points_over("bytes", {kMiB, 16 * kMiB, kManyPages}, {.phase = Phase::kLink, .seconds = 0.2});
  large.back().seconds = 0.4;
  const auto pages = points_over({{"pages", {"small", "huge"}}, {"bytes", {kManyPages}}},
                                 {.phase = Phase::kLink, .seconds = 0.3});
  add("allocation.malloc", "Time of cudaMalloc, by size", of_call, size_cost("cudaMalloc"), sizes,
      on_gpu([](auto& bench) { allocation_malloc(bench); }));
  add("allocation.free", "Time of cudaFree, by size", of_call, size_cost("cudaFree"), sizes,
      on_gpu([](auto& bench) { allocation_free(bench); }));
  add("allocation.pool", "Time of cudaMallocAsync and cudaFreeAsync, by size",
      "host seconds of both calls, from a pool that holds the memory",
      size_cost("cudaMallocAsync and cudaFreeAsync"), sizes,
      on_gpu([](auto& bench) { allocation_pool(bench); }));
  add("allocation.pinned", "Time of cudaHostAlloc, by size", of_call, gib_cost("cudaHostAlloc"),
      large, on_gpu([](auto& bench) { allocation_pinned(bench); }));
  add("allocation.register", "Time of cudaHostRegister of memory that was touched, by page size",
      of_call, gib_cost("cudaHostRegister"), pages,
      on_gpu([](auto& bench) { allocation_register(bench); }));
  add("allocation.first_touch", "Time of the first write to every page of host memory",
      "host seconds, one thread", gib_cost("first touch"), pages,
      on_gpu([](auto& bench) { allocation_first_touch(bench); }));
}

}  // namespace peakline::bench

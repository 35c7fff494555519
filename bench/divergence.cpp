// What does it cost when the threads of a warp take different paths?

#include "bench/question.hpp"

namespace peakline::bench {

void divergence(CudaBench& bench, int group);

namespace {

constexpr int kWarp = 32;  // lanes

std::vector<Point> path_points() {
  auto points = points_over("paths", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}, {.seconds = 0.03});
  for (Point& point : points)
    point.seconds += 0.003 * static_cast<double>(*int_param(point.params, "paths"));
  return points;
}

std::string divergence_title(const TitleView& view) {
  const auto slowdown = [&](const char* id, std::int64_t paths) {
    return view.value({.id = id, .by = {{"paths", paths}}});
  };
  std::vector<std::string> within;
  for (const std::int64_t paths : {2, 4, kWarp})
    within.push_back(fmt::format("{} take {:.1f} x", paths, slowdown("divergence.lanes", paths)));
  return fmt::format(
      "Divergent paths within a warp: {} the time of one; {} paths between warps {:.2f} x",
      fmt::join(within, ", "), kWarp, slowdown("divergence.warps", kWarp));
}

Picture divergence_picture() {
  const auto slowdown = [](const char* id) { return Numbers{id, "slowdown"}; };
  return {.key = "divergence",
          .subject = "Divergence: threads that take different paths",
          .how =
              "At worst paths run strictly one after another; the same paths split "
              "between whole warps are the control, which should stay at 1.",
          .panels = {{.over = "paths",
                      .x = count_axis("different paths"),
                      .y = count_axis("time, as a multiple of one path"),
                      .series = {{"inside a warp", slowdown("divergence.lanes")},
                                 {"between warps", slowdown("divergence.warps")}},
                      .marks = {{.label = "one after another", .diagonal = true}},
                      .naming = Naming::kEndsWithValue}}};
}

}  // namespace

void register_divergence(Registry& registry) {
  const auto add = [&](const char* id, const char* what, int group,
                       std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = "2 FLOP per FMA; every thread does the same number of FMAs",
                  .quantity = Quantity::kFlopRate,
                  .method_version = 2,  // v1 exceeded the instruction cache
                  .loads = Loads::kCores,
                  .limit = compute_peak({"cuda_core.fp32"}),
                  .curves = {slowdown_curve("divergence", "paths")},
                  .topics = std::move(topics),
                  .points = path_points()},
                 on_gpu([group](auto& bench) { divergence(bench, group); }));
  };
  add("divergence.lanes",
      "FP32 throughput with the lanes of each warp split over code paths, by path count", 1,
      {{"divergence", divergence_title, divergence_picture()}});
  add("divergence.warps",
      "FP32 throughput with whole warps split over code paths, by path count: the control", kWarp);
}

}  // namespace peakline::bench

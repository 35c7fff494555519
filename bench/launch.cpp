// What does a launch cost? Five quantities, measured separately.

#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {

void launch_submit(CudaBench& bench);
void launch_round_trip(CudaBench& bench);
void launch_back_to_back(CudaBench& bench);
void launch_empty_kernel(CudaBench& bench);
void launch_graph(CudaBench& bench);

namespace {

constexpr const char* kTopic = "kernel launch";

std::string launch_title(const TitleView& view) {
  return fmt::format("A launch takes {} to submit, another node of a graph {}",
                     view.text({.id = "launch.submit"}),
                     view.text({.id = "launch.graph", .name = "per_item"}));
}

Picture launch_picture() {
  return {.key = "launch",
          .subject = "Launches: what starting work costs",
          .how =
              "Five different quantities: the host's time to submit, the time from launch to "
              "finish, the time per kernel in a full stream, the kernel's own time, and the time "
              "per node of a graph, which spreads its fixed cost over its nodes.",
          .panels = {
              {.kind = PanelKind::kBars,
               .x = {.label = "one launch", .written = Written::kTime},
               .series = {{"empty kernel: time on device", {.id = "launch.empty_kernel"}},
                          {"back to back: one of many", {.id = "launch.back_to_back"}},
                          {"submit: host time of the call", {.id = "launch.submit"}},
                          {"round trip: launch to finish", {.id = "launch.round_trip"}}}},
              {.over = "nodes",
               .x = count_axis("nodes of a graph"),
               .y = {.label = "µs for each kernel", .per = 1e-6, .low = 0},
               .series = {{"graph", {.id = "launch.graph", .figure = "time_per_item"}}},
               .marks = {{.label = "stream", .figure = Numbers{"launch.back_to_back", "time"}}}}}};
}

// "submit 1.9 us". Figure time.
CurveRule time_curve(const std::string& label, std::string role = {}) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const double time_s = *curve.points.front()->value;
    sentence.add(fmt::format("{} {}", label, format_time(time_s)));
    sentence.figure("time", time_s);
  };
  return {kTopic, {{.name = "time", .unit = "s", .role = std::move(role)}}, summarize};
}

// "graph 3.5 us + 0.62 us per node": a line through the times over the nodes.
void summarize_graphs(const CurveView& curve, Sentence& sentence) {
  std::vector<double> items, times;
  for (const CurvePoint& point : sweep(curve, "nodes")) {
    items.push_back(point.x);
    times.push_back(point.value());
    sentence.figure("time_per_item", point.value() / point.x, {{"nodes", std::llround(point.x)}});
  }
  if (std::set(items.begin(), items.end()).size() < 2) return;
  const Line line = fit_line(items, times);
  const std::string per_item = fmt::format("{} per node", format_time(line.per_item));
  sentence.add(line.fixed > 0 ? fmt::format("graph {} + {}", format_time(line.fixed), per_item)
                              : fmt::format("graph {}", per_item));
  sentence.figure("fixed", line.fixed);
  sentence.figure("per_item", line.per_item);
}

}  // namespace

void register_launch(Registry& registry) {
  const auto add = [&](const char* id, const char* what, const char* work, VariesWith varies,
                       CurveRule curve, Run run) {
    registry.add(
        {.id = id,
         .what = what,
         .work = work,
         .loads = Loads::kLink,
         .varies_with = varies,
         .curves = {std::move(curve)},
         .points = {{.phase = Phase::kLink, .rule = Rule::kFull, .quick = true, .seconds = 0.3}}},
        std::move(run));
  };
  add("launch.submit", "Host time of one kernel launch call while the queue has room",
      "host seconds per call, without waiting for the device", VariesWith::kCpu,
      time_curve("submit"), on_gpu([](auto& bench) { launch_submit(bench); }));
  add("launch.round_trip", "Time from the launch call until the host sees an empty kernel finished",
      "host seconds of launch plus stream synchronization", VariesWith::kCpu,
      time_curve("round trip"), on_gpu([](auto& bench) { launch_round_trip(bench); }));
  add("launch.back_to_back", "Device time from one queued empty kernel to the next",
      "device seconds per kernel, queue never empty", VariesWith::kLaunches,
      time_curve("back to back"), on_gpu([](auto& bench) { launch_back_to_back(bench); }));
  add("launch.empty_kernel", "Device time that one empty kernel adds between two events",
      "device seconds: median with one kernel minus median with none", VariesWith::kLaunches,
      time_curve("empty kernel", role::kEmptyKernel),
      on_gpu([](auto& bench) { launch_empty_kernel(bench); }));
  auto graphs = points_over("nodes", multiples(1, 1024), {.phase = Phase::kLink, .seconds = 0.1});
  for (Point& point : graphs) {
    const std::int64_t nodes = *int_param(point.params, "nodes");
    point.quick = nodes == 1 || nodes == 32 || nodes == 1024;
  }
  registry.add(
      {.id = "launch.graph",
       .what = "Time from launching a graph of empty kernels in a row to its end, by node count",
       .work = "host seconds per graph; a line through them gives fixed cost and cost per node",
       .loads = Loads::kLink,
       .varies_with = VariesWith::kLaunches,
       .curves = {{kTopic,
                   {{"fixed", "s"}, {"per_item", "s"}, {"time_per_item", "s", {"nodes"}}},
                   summarize_graphs}},
       .topics = {{kTopic, launch_title, launch_picture()}},
       .points = std::move(graphs)},
      on_gpu([](auto& bench) { launch_graph(bench); }));
}

}  // namespace peakline::bench

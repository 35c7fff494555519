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

// From how many nodes on the fixed cost of a graph is worth it, with `saved` seconds for each.
std::optional<double> pays_from(const TitleView& view, double saved) {
  if (saved <= 0) return std::nullopt;
  const double from = view.value({.id = "launch.graph", .name = "fixed"}) / saved;
  std::int64_t most = 0;  // nodes measured
  for (const Figure* graph : view.all({.id = "launch.graph", .name = "time_per_item"}))
    most = std::max(most, *int_param(graph->by, "nodes"));
  return from > static_cast<double>(most) ? std::nullopt
                                          : std::optional(std::max(1.0, std::ceil(from)));
}

// A graph replaces calls by the host, or kernels that already wait in the stream.
std::string launch_title(const TitleView& view) {
  const FigureQuery call{.id = "launch.submit"}, stream{.id = "launch.back_to_back"},
      node{.id = "launch.graph", .name = "per_item"};
  std::string text = fmt::format(
      "A launch takes {} of the host, a kernel that already waits in the stream {}, one of a long "
      "graph {}",
      view.text(call), view.text(stream), view.text(node));
  const auto of_calls = pays_from(view, view.value(call) - view.value(node)),
             of_queued = pays_from(view, view.value(stream) - view.value(node));
  if (!of_calls && !of_queued) return text + "; no graph that was measured saves time";
  text += "; a graph pays";
  if (of_calls)
    text += fmt::format(" from {:.0f} kernels on where the host's calls set the pace", *of_calls);
  if (of_queued)
    text +=
        fmt::format("{} from {:.0f} where kernels already wait", of_calls ? "," : "", *of_queued);
  return text;
}

Picture launch_picture() {
  return {
      .key = "launch",
      .subject = "Launches: what starting work costs",
      .how =
          "A graph pays where a kernel in it takes less than one launched into a stream. A round "
          "trip is paid by whoever waits for each kernel, the call (submit) by the host. Back "
          "to back are kernels that already wait in the stream, so that the host is not in "
          "their time; per item is that of one more node in a long graph, fixed what a graph "
          "takes besides its nodes; empty kernel is one alone on the device, beside which nothing "
          "else starts or ends.",
      .panels = {{.over = "nodes",
                  .x = count_axis("nodes of a graph"),
                  .y = {.label = "µs for each kernel", .per = 1e-6, .low = 0},
                  .series = {{"graph", {.id = "launch.graph", .figure = "time_per_item"}}},
                  .marks = {{.label = "stream", .figure = Numbers{"launch.back_to_back", "time"}}}},
                 {.kind = PanelKind::kBars,
                  .x = {.label = "one kernel", .written = Written::kTime},
                  .series = {{"round trip: launch to finish", {.id = "launch.round_trip"}},
                             {"submit: host time of the call", {.id = "launch.submit"}},
                             {"empty kernel alone on the device", {.id = "launch.empty_kernel"}},
                             {"back to back: one of many", {.id = "launch.back_to_back"}},
                             {"one more node of a long graph",
                              {.id = "launch.graph", .figure = "per_item"}}}}}};
}

CurveRule time_curve(std::string role = {}) {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    figures.add("time", *curve.points.front()->value);
  };
  return {kTopic, {{.name = "time", .unit = "s", .role = std::move(role)}}, summarize};
}

// A line through the times over the nodes.
void summarize_graphs(const CurveView& curve, Figures& figures) {
  std::vector<double> items, times;
  for (const CurvePoint& point : sweep(curve, "nodes")) {
    items.push_back(point.x);
    times.push_back(point.value());
    figures.add("time_per_item", point.value() / point.x, {{"nodes", std::llround(point.x)}});
  }
  if (std::set(items.begin(), items.end()).size() < 2) return;
  const Line line = fit_line(items, times);
  figures.add("fixed", line.fixed);
  figures.add("per_item", line.per_item);
}

}  // namespace

void register_launch(Registry& registry) {
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.loads = Loads::kLink;
    benchmark.points = {
        {.phase = Phase::kLink, .timing = Timing::kFull, .quick = true, .seconds = 0.3}};
    registry.add(std::move(benchmark), std::move(run));
  };
  add({.id = "launch.submit",
       .what = "Host time of one kernel launch call while the queue has room",
       .work = "host seconds per call, without waiting for the device",
       .varies_with = VariesWith::kCpu,
       .curves = {time_curve()}},
      on_gpu([](auto& bench) { launch_submit(bench); }));
  add({.id = "launch.round_trip",
       .what = "Time from the launch call until the host sees an empty kernel finished",
       .work = "host seconds of launch plus stream synchronization",
       .varies_with = VariesWith::kCpu,
       .curves = {time_curve()}},
      on_gpu([](auto& bench) { launch_round_trip(bench); }));
  add({.id = "launch.back_to_back",
       .what = "Device time from one queued empty kernel to the next",
       .work = "device seconds per kernel, queue never empty",
       .varies_with = VariesWith::kLaunches,
       .curves = {time_curve()}},
      on_gpu([](auto& bench) { launch_back_to_back(bench); }));
  add({.id = "launch.empty_kernel",
       .what = "Device time that one empty kernel adds between two events",
       .work = "device seconds: median with one kernel minus median with none",
       .varies_with = VariesWith::kLaunches,
       .curves = {time_curve(role::kEmptyKernel)}},
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

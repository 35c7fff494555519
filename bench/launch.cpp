// What does a launch cost? Five different quantities, measured separately.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

void launch_submit(CudaBench& bench);
void launch_round_trip(CudaBench& bench);
void launch_back_to_back(CudaBench& bench);
void launch_empty_kernel(CudaBench& bench);
void launch_graph(CudaBench& bench);

namespace {

std::vector<Point> one_point() {
  return {
      {.params = {}, .phase = Phase::kLink, .rule = Rule::kFull, .quick = true, .seconds = 0.3}};
}

std::string launch_title(const TitleView& view) {
  return fmt::format("A launch takes {} to submit, another node of a graph {}",
                     format_time(view.value({.id = "launch.submit"})),
                     format_time(view.value({.id = "launch.graph", .name = "per_item"})));
}

Picture launch_picture() {
  return {
      .key = "launch",
      .subject = "Launches: what starting work costs",
      .how =
          "Five different quantities: the host's time to submit, the time from launch to "
          "finish, the time per kernel in a full stream, the kernel's own time, and the "
          "time per node of a graph, which spreads its fixed cost over its nodes.",
      .panels = {
          {.kind = PanelKind::kBars,
           .x = {.label = "one launch", .written = Written::kTime},
           .series = {{"empty kernel: time on device", {.id = "launch.empty_kernel"}},
                      {"back to back: one of many", {.id = "launch.back_to_back"}},
                      {"submit: host time of the call", {.id = "launch.submit"}},
                      {"round trip: launch to finish", {.id = "launch.round_trip"}}}},
          {.over = "nodes",
           .x = {.label = "nodes of a graph", .written = Written::kInteger, .scale = Scale::kLog2},
           .y = {.label = "µs for each kernel", .per = 1e-6, .low = 0},
           .series = {{"graph", {.id = "launch.graph", .figure = "time_per_item"}}},
           .marks = {{.label = "stream",
                      .figure = Numbers{.id = "launch.back_to_back", .figure = "time"}}}}}};
}

}  // namespace

void register_launch(Registry& registry) {
  constexpr const char* kTopic = "kernel launch";
  const Limit none = no_limit("a time has no upper limit");
  const auto add = [&](const std::string& name, const std::string& label, const char* what,
                       const char* work, VariesWith varies, Run run, std::string role = {}) {
    registry.add({.id = "launch." + name,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kTime,
                  .loads = Loads::kLink,
                  .varies_with = varies,
                  .limit = none,
                  .curves = {time_curve(kTopic, label, std::move(role))},
                  .points = one_point()},
                 std::move(run));
  };
  add("submit", "submit", "Host time of one kernel launch call while the queue has room",
      "host seconds per call, without waiting for the device", VariesWith::kCpu,
      on_gpu([](auto& bench) { launch_submit(bench); }));
  add("round_trip", "round trip",
      "Time from the launch call until the host sees an empty kernel finished",
      "host seconds of launch plus stream synchronization", VariesWith::kCpu,
      on_gpu([](auto& bench) { launch_round_trip(bench); }));
  add("back_to_back", "back to back", "Device time from one queued empty kernel to the next",
      "device seconds per kernel, queue never empty", VariesWith::kLaunches,
      on_gpu([](auto& bench) { launch_back_to_back(bench); }));
  add("empty_kernel", "empty kernel", "Device time that one empty kernel adds between two events",
      "device seconds: median with one kernel minus median with none", VariesWith::kLaunches,
      on_gpu([](auto& bench) { launch_empty_kernel(bench); }), role::kEmptyKernel);
  Benchmark graphs{
      .id = "launch.graph",
      .what = "Time from launching a graph of empty kernels in a row to its end, by node count",
      .work = "host seconds per graph; a line through them gives fixed cost and cost per node",
      .quantity = Quantity::kTime,
      .loads = Loads::kLink,
      .varies_with = VariesWith::kLaunches,
      .limit = none,
      .curves = {line_curve(kTopic, "nodes", "graph", "node")},
      .topics = {{kTopic, launch_title, launch_picture()}},
      .points = {}};
  for (std::int64_t nodes = 1; nodes <= 1024; nodes *= 2)
    graphs.points.push_back({.params = {{"nodes", nodes}},
                             .phase = Phase::kLink,
                             .rule = Rule::kCurve,
                             .quick = nodes == 1 || nodes == 32 || nodes == 1024,
                             .seconds = 0.1});
  registry.add(std::move(graphs), on_gpu([](auto& bench) { launch_graph(bench); }));
}

}  // namespace peakline::bench

// What does a launch cost? Five different quantities, measured separately.

#include <memory>

#include "harness/benchmark/cuda_data.cuh"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "kernels/empty.cuh"

namespace peakline::bench {
namespace {

// Calls in a row before the queue is drained: far below the thousand or so at which a call blocks.
constexpr std::int64_t kSubmitted = 128;

void launch_empty(cudaStream_t stream) { kernels::empty<<<1, 32, 0, stream>>>(); }

// An empty kernel has no result, so there is nothing to verify here.
void submit(CudaBench& bench) {
  bench.launch_once(launch_empty);
  bench.measure_on_host(
      {}, [&] { launch_empty(bench.stream()); }, kSubmitted,
      [&] { PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream())); });
}

void round_trip(CudaBench& bench) {
  bench.launch_once(launch_empty);
  bench.measure_on_host({}, [&] {
    launch_empty(bench.stream());
    PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream()));
  });
}

void back_to_back(CudaBench& bench) { bench.measure({}, launch_empty); }

// The device time of one empty kernel: what a kernel between two events adds to the events alone.
void empty_kernel(CudaBench& bench) { bench.measure_difference({}, launch_empty); }

void graph(CudaBench& bench) {
  const cuda::Graph graph(bench.stream(), [&](cudaStream_t stream) {
    for (std::int64_t node = 0; node < bench.integer("nodes"); ++node) launch_empty(stream);
  });
  bench.verify([&]() -> std::string {
    return graph.node_count() == static_cast<std::size_t>(bench.integer("nodes"))
               ? ""
               : "the graph has the wrong number of nodes";
  });
  bench.measure_on_host({}, [&] {
    graph.launch(bench.stream());
    PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream()));
  });
}

std::vector<Point> one_point() {
  return {
      {.params = {}, .phase = Phase::kLink, .rule = Rule::kFull, .quick = true, .seconds = 0.3}};
}

}  // namespace

void register_launch(Registry& registry) {
  constexpr const char* kTopic = "kernel launch";
  const Limit none = no_limit("a time has no upper limit");
  const auto add = [&](const std::string& name, const std::string& label, const char* what,
                       const char* work, VariesWith varies, void (*run)(CudaBench&)) {
    registry.add({.id = "launch." + name,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kTime,
                  .loads = Loads::kLink,
                  .varies_with = varies,
                  .limit = none,
                  .curves = {value_curve(kTopic, label, name + "_s")},
                  .points = one_point()},
                 run);
  };
  add("submit", "submit", "Host time of one kernel launch call while the queue has room",
      "host seconds per call, without waiting for the device", VariesWith::kCpu, submit);
  add("round_trip", "round trip",
      "Time from the launch call until the host sees an empty kernel finished",
      "host seconds of launch plus stream synchronization", VariesWith::kCpu, round_trip);
  add("back_to_back", "back to back", "Device time from one queued empty kernel to the next",
      "device seconds per kernel, queue never empty", VariesWith::kLaunches, back_to_back);
  add("empty_kernel", "empty kernel", "Device time that one empty kernel adds between two events",
      "device seconds: median with one kernel minus median with none", VariesWith::kLaunches,
      empty_kernel);
  Benchmark graphs{
      .id = "launch.graph",
      .what = "Time from launching a graph of empty kernels in a row to its end, by node count",
      .work = "host seconds per graph; a line through them gives fixed cost and cost per node",
      .quantity = Quantity::kTime,
      .loads = Loads::kLink,
      .varies_with = VariesWith::kLaunches,
      .limit = none,
      .curves = {line_curve(kTopic, "nodes", "graph", "node")},
      .points = {}};
  for (std::int64_t nodes = 1; nodes <= 1024; nodes *= 2)
    graphs.points.push_back({.params = {{"nodes", nodes}},
                             .phase = Phase::kLink,
                             .rule = Rule::kCurve,
                             .quick = nodes == 1 || nodes == 32 || nodes == 1024,
                             .seconds = 0.1});
  registry.add(std::move(graphs), graph);
}

}  // namespace peakline::bench

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/empty.cuh"

namespace peakline::bench {
namespace {

// Calls in a row before the queue is drained; a call blocks at about a thousand.
constexpr std::int64_t kSubmitted = 128;

void launch_empty(cudaStream_t stream) { kernels::empty<<<1, 32, 0, stream>>>(); }

}  // namespace

// Empty kernels have no result to verify.
void launch_submit(CudaBench& bench) {
  bench.launch_once(launch_empty);
  bench.measure_on_host(
      {}, [&] { launch_empty(bench.stream()); }, kSubmitted,
      [&] { PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream())); });
}

void launch_round_trip(CudaBench& bench) {
  bench.launch_once(launch_empty);
  bench.measure_on_host({}, [&] {
    launch_empty(bench.stream());
    PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream()));
  });
}

void launch_back_to_back(CudaBench& bench) { bench.measure({}, launch_empty); }

// Time that a kernel between two events adds to the events alone.
void launch_empty_kernel(CudaBench& bench) { bench.measure_difference({}, launch_empty); }

void launch_graph(CudaBench& bench) {
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

}  // namespace peakline::bench

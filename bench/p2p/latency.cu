// How long does a load from another GPU's memory take, and how soon does another GPU see a write?

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "bench/latency.hpp"
#include "bench/node_curves.hpp"
#include "bench/p2p/pair_copy.cuh"
#include "bench/pairs.hpp"
#include "harness/conclude/limits.hpp"
#include "kernels/latency.cuh"
#include "kernels/peer.cuh"

namespace peakline::bench {
namespace {

void latency(NodeBench& bench) {
  // Beyond every L1, and within the part of the other GPU's L2 that holds it: what remains is the
  // way there and back.
  constexpr std::uint64_t kBytes = 2 << 20;
  bench.connect();
  const NodeBuffer<char> memory(*bench.gpus()[1], kBytes);
  measure_peer_latency(bench, memory.data(), kBytes / kernels::kLineBytes);
}

// A write, and its sight by the other GPU: half of a round of a ping-pong.
void visibility(NodeBench& bench) {
  if (bench.options().profile) throw Skipped("a profiler runs one kernel at a time");
  bench.connect();
  const NodeGpu& other = *bench.gpus()[1];
  const NodeBuffer<std::uint32_t> own(*bench.gpus()[0], 1), others(other, 1);
  const cuda::DeviceBuffer<ClockReading> stamps(2);
  // Their code is loaded here: the first waits for the second, whose loading may wait for the
  // first.
  cudaFuncAttributes loaded{};
  PEAKLINE_CUDA(cudaFuncGetAttributes(&loaded, kernels::ping<ClockReading>));
  PEAKLINE_CUDA(cudaMemset(own.data(), 0, sizeof(std::uint32_t)));
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  {
    const CurrentGpu current(other);
    PEAKLINE_CUDA(cudaFuncGetAttributes(&loaded, kernels::pong));
    PEAKLINE_CUDA(cudaMemset(others.data(), 0, sizeof(std::uint32_t)));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  const Fork fork(std::array{&other});
  std::uint32_t count = 0;
  const auto launch_of = [&](std::uint64_t steps) -> CudaBench::Launch {
    const auto rounds = static_cast<std::uint32_t>(steps / 2);
    return [&, rounds](cudaStream_t stream) {
      fork.begin(stream);
      kernels::ping<<<1, 1, 0, stream>>>(own.data(), others.data(), count, rounds, stamps.data());
      {
        const CurrentGpu current(other);
        kernels::pong<<<1, 1, 0, fork.stream(0)>>>(others.data(), own.data(), count, rounds);
      }
      count += rounds + 1;
      fork.end(stream);
    };
  };
  bench.verify([&]() -> std::string {
    constexpr std::uint64_t kFew = 64;
    bench.launch_once(launch_of(kFew));
    std::uint32_t seen = 0;
    PEAKLINE_CUDA(cudaMemcpy(&seen, own.data(), sizeof(seen), cudaMemcpyDeviceToHost));
    return seen == count ? "" : "the last flag did not arrive";
  });
  bench.measure_stamped(launch_of, stamps);
}

}  // namespace

void register_p2p_latency(Registry& registry, const std::vector<int>& gpus) {
  const auto add = [&](const char* id, const char* what, const char* work, const char* label,
                       const char* name, void (*run)(NodeBench&)) {
    const Point each{.params = {}, .phase = Phase::kNode, .quick = true, .seconds = 0.03};
    std::vector<Point> points = pair_points(gpus, false, each);
    // One by one: while a kernel waits for one of another GPU, a call of another thread that waits
    // for all GPUs could keep that one from being launched.
    for (Point& point : points) point.round = 0;
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kTime,
                  .loads = Loads::kLink,
                  .limit = no_limit("a time has no upper limit"),
                  .curves = {pair_time_curve(kLinksTopic, label, name)},
                  .points = std::move(points)},
                 std::function<void(NodeBench&)>(run));
  };
  add("p2p.latency", "Latency of another GPU's memory",
      "seconds of one load, each of which waits for the one before", "latency", "latency_s",
      latency);
  add("p2p.visibility", "Time until another GPU sees a write to its memory",
      "half the seconds of a flag's way there and of its answer's back", "a flag is seen after",
      "visibility_s", visibility);
}

}  // namespace peakline::bench

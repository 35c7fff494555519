#include <array>
#include <cstdint>
#include <string>

#include "bench/latency.hpp"
#include "bench/p2p/pair_copy.cuh"
#include "kernels/latency.cuh"
#include "kernels/peer.cuh"

namespace peakline::bench {

void latency_of_other_gpu(NodeBench& bench) {
  // Beyond every L1, and within the other GPU's L2 partition: mostly the round trip is left.
  constexpr std::uint64_t kBytes = 2 << 20;
  bench.connect();
  const NodeBuffer<char> memory(*bench.gpus()[1], kBytes);
  measure_peer_latency(bench, memory.data(), kBytes / kernels::kLineBytes);
}

// Half of a ping-pong's round: a write, until the other GPU sees it.
void visibility_to_other_gpu(NodeBench& bench) {
  if (bench.options().profile) throw Skipped("a profiler runs one kernel at a time");
  bench.connect();
  const NodeGpu& other = *bench.gpus()[1];
  const NodeBuffer<std::uint32_t> own(*bench.gpus()[0], 1), others(other, 1);
  const cuda::DeviceBuffer<ClockReading> stamps(2);
  // Loads both kernels now: the first waits for the second, whose loading may wait for the first.
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

}  // namespace peakline::bench

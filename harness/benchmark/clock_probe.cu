#include "harness/benchmark/cuda_bench.hpp"
#include "kernels/clock.cuh"

namespace peakline::bench {

// Long compared with the ticks of the global timer (32 ns to 1 us), short compared with everything
// else.
constexpr std::uint64_t kProbeNanoseconds = 50'000;

void launch_clock_probe(cudaStream_t stream, cuda::ClockStamp* stamp) {
  kernels::clock_probe<<<1, 1, 0, stream>>>(&stamp->cycles, &stamp->nanoseconds, kProbeNanoseconds);
}

}  // namespace peakline::bench

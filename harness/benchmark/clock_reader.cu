#include "harness/benchmark/cuda_bench.hpp"
#include "kernels/clock.cuh"

namespace peakline::bench {

void read_sm_clocks(cudaStream_t stream, std::span<ClockReading> readings) {
  kernels::read_clocks<<<static_cast<unsigned>(readings.size()), 1, 0, stream>>>(readings.data());
}

}  // namespace peakline::bench

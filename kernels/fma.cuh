#pragma once

// Chains of fused multiply-adds in registers: the throughput of the CUDA cores.

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/clock.cuh"

namespace peakline::kernels {

// Independent chains per thread: together with the other warps of an SM they hide the latency of an
// FMA (4 clocks or more).
inline constexpr int kFmaChains = 8;
// FMAs of a chain per loop iteration: the loop overhead becomes < 1 % of the instructions.
inline constexpr int kFmaUnroll = 32;

template <class T>
__device__ inline T fused(T x, T a, T b) {
  return fma(x, a, b);
}
template <>
__device__ inline __half2 fused(__half2 x, __half2 a, __half2 b) {
  return __hfma2(x, a, b);
}

// Every thread t: for each chain c, x = start[t % 32] * (c + 1) iterated trips x kFmaUnroll times
// as x = x * a + b; out[t] = their sum in chain order. a and b come from memory, so the compiler
// cannot fold anything. FLOPs: 2 x kFmaChains x kFmaUnroll x trips per thread and element of T (a
// __half2 has two). Writes sizeof(T) bytes per thread; its reads hit the caches. scale[c] = (c + 1)
// as T. The first thread of the grid stamps the clock.
template <class T>
__global__ void fma_chains(const T* start, const T* coefficients, const T* scale, T* out, int trips,
                           std::uint64_t* cycles, std::uint64_t* nanoseconds) {
  const ClockReading begin = read_clocks();
  const T a = coefficients[0], b = coefficients[1];
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  T x[kFmaChains];
#pragma unroll
  for (int c = 0; c < kFmaChains; ++c) x[c] = start[thread % 32] * scale[c];
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
    for (int u = 0; u < kFmaUnroll; ++u) {
#pragma unroll
      for (int c = 0; c < kFmaChains; ++c) x[c] = fused(x[c], a, b);
    }
  }
  T sum = x[0];
#pragma unroll
  for (int c = 1; c < kFmaChains; ++c) sum = sum + x[c];
  out[thread] = sum;
  if (thread == 0) put_clock_stamp(begin, cycles, nanoseconds);
}

}  // namespace peakline::kernels

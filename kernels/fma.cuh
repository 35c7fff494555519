#pragma once

// Chains of FMAs in registers: the throughput of the CUDA cores.

#include <cuda_fp16.h>

namespace peakline::kernels {

// Independent chains per thread, to hide the latency of an FMA (4 clocks or more).
inline constexpr int kFmaChains = 8;
// FMAs of a chain per loop iteration. The loop's three instructions are 0.3 % of 1024 FMAs, whose
// 16 KiB still run at full speed from the instruction cache; twice as many do not. (FP32 on an
// H200: 126.3, 126.7, 126.9 and 125.8 FMAs per clock and SM with 32, 64, 128 and 256.)
inline constexpr int kFmaUnroll = 128;

template <class T>
__device__ inline T fused(T x, T a, T b) {
  return fma(x, a, b);
}
template <>
__device__ inline __half2 fused(__half2 x, __half2 a, __half2 b) {
  return __hfma2(x, a, b);
}

// out[thread] = sum of the chains x = start[thread % 32] * scale[c], each iterated trips x
// kFmaUnroll times as x = x * a + b, in chain order; scale[c] = (c + 1) as T. As arguments, a and b
// are uniform and cannot be folded: with three operands in ordinary registers FP64 on an H200 loses
// 8 %. FLOPs: 2 x kFmaChains x kFmaUnroll x trips per thread and element of T (a __half2 has two).
// Writes sizeof(T) bytes per thread; reads hit the caches.
template <class T>
__global__ void fma_chains(const T* start, T a, T b, const T* scale, T* out, int trips) {
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
}

}  // namespace peakline::kernels

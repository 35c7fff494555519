#pragma once

// Sums of several arrays: one step of a chain of element-wise additions, or several fused.

#include <cstddef>

#include "kernels/stream.cuh"

namespace peakline::kernels {

template <int kArrays>
struct Arrays {
  const float4* data[kArrays];
};

// A thread's vectors of all arrays are in registers at once.
inline constexpr unsigned kMostSumThreads = 512;

// to = ((a + b) + c) + ...: kArrays - 1 additions per element. Reads 16 x count x kArrays bytes and
// writes 16 x count. One tile per block: launch stream_blocks() blocks.
template <int kArrays, int kUnroll>
__global__ void __launch_bounds__(kMostSumThreads, 1)
    sum_arrays(Arrays<kArrays> from, float4* to, std::size_t count) {
  const auto add = [](float4& sum, float4 v) {
    sum = {sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w};
  };
  for_tile<kUnroll>(
      count,
      [&](std::size_t first) {
        float4 v[kArrays][kUnroll];
#pragma unroll
        for (int a = 0; a < kArrays; ++a)
#pragma unroll
          for (int u = 0; u < kUnroll; ++u) v[a][u] = from.data[a][first + u * blockDim.x];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
          for (int a = 1; a < kArrays; ++a) add(v[0][u], v[a][u]);
          to[first + u * blockDim.x] = v[0][u];
        }
      },
      [&](std::size_t i) {
        float4 sum = from.data[0][i];
#pragma unroll
        for (int a = 1; a < kArrays; ++a) add(sum, from.data[a][i]);
        to[i] = sum;
      });
}

}  // namespace peakline::kernels

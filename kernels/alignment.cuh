#pragma once

// Reads whose start or stride does not match sectors (32 bytes) and lines (128 bytes).

#include <cstddef>
#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

inline constexpr unsigned kAlignmentThreads = 256;

// Reads the vectors 0, stride, 2 x stride, ... of data, `count` in total: sizeof(Vec) x count
// useful bytes. result ^= all words read. Blocks take tiles of kAlignmentThreads x kUnroll vectors,
// round-robin; a thread issues all loads, up to 64 bytes, before it uses the first.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kAlignmentThreads)
    strided_read(const Vec* __restrict__ data, std::size_t count, std::size_t stride,
                 std::uint32_t* result) {
  constexpr std::size_t kTile = static_cast<std::size_t>(kAlignmentThreads) * kUnroll;
  std::uint32_t sum = 0;
  for (std::size_t tile = blockIdx.x * kTile; tile < count; tile += gridDim.x * kTile) {
    const std::size_t first = tile + threadIdx.x;
    if (tile + kTile <= count) {
      Vec v[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) v[u] = data[(first + u * kAlignmentThreads) * stride];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) sum ^= Words<Vec>::fold(v[u]);
    } else {
      for (std::size_t i = first; i < count; i += kAlignmentThreads)
        sum ^= Words<Vec>::fold(data[i * stride]);
    }
  }
  sum = block_xor(sum);
  if (threadIdx.x == 0) atomicXor(result, sum);
}

}  // namespace peakline::kernels

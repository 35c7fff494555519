#pragma once

// Reads whose start or stride does not match the sectors (32 bytes) and lines (128 bytes) of the
// memory system.

#include <cstddef>
#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

// Reads the vectors 0, stride, 2 x stride, ... of data, `count` in total, each once: sizeof(Vec) x
// count useful bytes. result ^= all words read. Structured like stream_read.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kStreamThreads)
    strided_read(const Vec* __restrict__ data, std::size_t count, std::size_t stride,
                 std::uint32_t* result) {
  std::uint32_t sum = 0;
  for_each_tile<kUnroll>(count, [&](std::size_t first, bool full) {
    if (full) {
      Vec v[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) v[u] = data[(first + u * kStreamThreads) * stride];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) sum ^= Words<Vec>::fold(v[u]);
    } else {
      for (std::size_t i = first; i < count; i += kStreamThreads)
        sum ^= Words<Vec>::fold(data[i * stride]);
    }
  });
  add_xor(sum, result);
}

}  // namespace peakline::kernels

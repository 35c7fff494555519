#pragma once

// x += 1 in place, for elements of 1 to 16 bytes; those of 8 and 16 bytes are 2 and 4 words, each
// of which is increased. A launch reads and writes each of `count` elements once, and does no
// FLOPs. A block takes one tile (for_tile), a thread loads all its elements before it stores any.
// Launch stream_blocks() blocks of at most kMostStreamThreads threads, a multiple of 32.

#include <cstddef>
#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

template <class Element>
__host__ __device__ inline Element plus_one(Element x) {
  return static_cast<Element>(x + 1);
}
template <>
__host__ __device__ inline uint2 plus_one(uint2 x) {
  return {x.x + 1, x.y + 1};
}
template <>
__host__ __device__ inline uint4 plus_one(uint4 x) {
  return {x.x + 1, x.y + 1, x.z + 1, x.w + 1};
}

template <class Element, int kUnroll>
__global__ void __launch_bounds__(kMostStreamThreads, 1)
    update_in_place(Element* data, std::size_t count) {
  for_tile<kUnroll>(
      count,
      [&](std::size_t first) {
        Element x[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) x[u] = __ldcs(data + first + u * blockDim.x);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u)
          __stcs(data + first + u * blockDim.x, plus_one<Element>(x[u]));
      },
      [&](std::size_t i) { data[i] = plus_one<Element>(data[i]); });
}

// differences += number of words of which `data` is not `before` with each of its elements
// increased. Any launch.
template <class Element>
__global__ void reference_update(const std::uint32_t* before, const std::uint32_t* data,
                                 std::size_t words, unsigned long long* differences) {
  constexpr unsigned kBits = sizeof(Element) < 4 ? 8 * sizeof(Element) : 32;
  unsigned long long found = 0;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += threads) {
    std::uint32_t expected = 0;
    for (unsigned shift = 0; shift < 32; shift += kBits) {
      const std::uint32_t mask = 0xffffffffu >> (32 - kBits);
      expected |= (((before[i] >> shift) + 1) & mask) << shift;
    }
    found += data[i] != expected;
  }
  if (found != 0) atomicAdd(differences, found);
}

}  // namespace peakline::kernels

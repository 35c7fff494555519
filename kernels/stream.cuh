#pragma once

// Streams through device memory: read, write, copy, triad. Vec is the width of one access: 4
// (uint32), 8 (uint2) or 16 bytes (uint4). A block works on tiles of kStreamThreads x kUnroll
// vectors; all kUnroll loads of a thread are issued before the first is used, so that kUnroll x
// sizeof(Vec) bytes per thread are in flight. Tiles are distributed round-robin over the grid, so
// any grid covers any number of vectors.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// A compile-time constant, so that all load addresses of a thread are one register plus immediates.
inline constexpr unsigned kStreamThreads = 256;

template <class Vec>
struct Words;  // a vector as its 32-bit words
template <>
struct Words<std::uint32_t> {
  static constexpr int kCount = 1;
  static __device__ std::uint32_t fold(std::uint32_t v) { return v; }
  static __device__ std::uint32_t pattern(std::uint32_t value, std::size_t i) {
    return value ^ static_cast<std::uint32_t>(i);
  }
  static __device__ std::uint32_t triad(std::uint32_t b, std::uint32_t c, float scale) {
    return __float_as_uint(fmaf(scale, __uint_as_float(c), __uint_as_float(b)));
  }
};
template <>
struct Words<uint2> {
  static constexpr int kCount = 2;
  using Word = Words<std::uint32_t>;
  static __device__ std::uint32_t fold(uint2 v) { return v.x ^ v.y; }
  static __device__ uint2 pattern(std::uint32_t value, std::size_t i) {
    return {Word::pattern(value, 2 * i), Word::pattern(value, 2 * i + 1)};
  }
  static __device__ uint2 triad(uint2 b, uint2 c, float scale) {
    return {Word::triad(b.x, c.x, scale), Word::triad(b.y, c.y, scale)};
  }
};
template <>
struct Words<uint4> {
  static constexpr int kCount = 4;
  using Word = Words<std::uint32_t>;
  static __device__ std::uint32_t fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }
  static __device__ uint4 pattern(std::uint32_t value, std::size_t i) {
    return {Word::pattern(value, 4 * i), Word::pattern(value, 4 * i + 1),
            Word::pattern(value, 4 * i + 2), Word::pattern(value, 4 * i + 3)};
  }
  static __device__ uint4 triad(uint4 b, uint4 c, float scale) {
    return {Word::triad(b.x, c.x, scale), Word::triad(b.y, c.y, scale),
            Word::triad(b.z, c.z, scale), Word::triad(b.w, c.w, scale)};
  }
};

// One atomic per warp: without a result, the loads would be dead code.
__device__ inline void add_xor(std::uint32_t sum, std::uint32_t* result) {
  for (int lane = 16; lane > 0; lane /= 2) sum ^= __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) atomicXor(result, sum);
}

// Calls body(first, full): the thread's first index of each of its tiles, and whether all kUnroll
// indices first + u * kStreamThreads are below count.
template <int kUnroll, class Body>
__device__ inline void for_each_tile(std::size_t count, Body body) {
  constexpr std::size_t kTile = static_cast<std::size_t>(kStreamThreads) * kUnroll;
  for (std::size_t tile = blockIdx.x * kTile; tile < count; tile += gridDim.x * kTile)
    body(tile + threadIdx.x, tile + kTile <= count);
}

// Reads sizeof(Vec) x count bytes; result ^= all words.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kStreamThreads)
    stream_read(const Vec* __restrict__ data, std::size_t count, std::uint32_t* result) {
  std::uint32_t sum = 0;
  for_each_tile<kUnroll>(count, [&](std::size_t first, bool full) {
    if (full) {
      Vec v[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) v[u] = __ldcs(data + first + u * kStreamThreads);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) sum ^= Words<Vec>::fold(v[u]);
    } else {
      for (std::size_t i = first; i < count; i += kStreamThreads) sum ^= Words<Vec>::fold(data[i]);
    }
  });
  add_xor(sum, result);
}

// Writes sizeof(Vec) x count bytes: word i becomes value ^ i, which is not compressible.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kStreamThreads)
    stream_write(Vec* __restrict__ data, std::size_t count, std::uint32_t value) {
  for_each_tile<kUnroll>(count, [&](std::size_t first, bool full) {
    if (full) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const std::size_t i = first + u * kStreamThreads;
        __stcs(data + i, Words<Vec>::pattern(value, i));
      }
    } else {
      for (std::size_t i = first; i < count; i += kStreamThreads)
        data[i] = Words<Vec>::pattern(value, i);
    }
  });
}

// to = from. Reads sizeof(Vec) x count bytes and writes as many.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kStreamThreads)
    stream_copy(const Vec* __restrict__ from, Vec* __restrict__ to, std::size_t count) {
  for_each_tile<kUnroll>(count, [&](std::size_t first, bool full) {
    if (full) {
      Vec v[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) v[u] = __ldcs(from + first + u * kStreamThreads);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) __stcs(to + first + u * kStreamThreads, v[u]);
    } else {
      for (std::size_t i = first; i < count; i += kStreamThreads) to[i] = from[i];
    }
  });
}

// a = b + scale * c over FP32. Reads 2 x and writes 1 x sizeof(Vec) x count bytes; 2 FLOP per 4
// bytes written.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kStreamThreads)
    stream_triad(Vec* __restrict__ a, const Vec* __restrict__ b, const Vec* __restrict__ c,
                 float scale, std::size_t count) {
  for_each_tile<kUnroll>(count, [&](std::size_t first, bool full) {
    if (full) {
      Vec vb[kUnroll], vc[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        vb[u] = __ldcs(b + first + u * kStreamThreads);
        vc[u] = __ldcs(c + first + u * kStreamThreads);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        __stcs(a + first + u * kStreamThreads, Words<Vec>::triad(vb[u], vc[u], scale));
    } else {
      for (std::size_t i = first; i < count; i += kStreamThreads)
        a[i] = Words<Vec>::triad(b[i], c[i], scale);
    }
  });
}

}  // namespace peakline::kernels

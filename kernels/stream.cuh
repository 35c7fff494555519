#pragma once

// Streams through device memory: read, write, copy, triad. Vec is one access: 4 (uint32), 8 (uint2)
// or 16 bytes (uint4). A block works on one tile of blockDim.x x kUnroll vectors; a thread issues
// all its loads before it uses the first. With one tile per block, a free SM takes the next block,
// so that an SM far from its memory does less instead of holding up the others. Launch
// stream_blocks() blocks of at most kMostStreamThreads threads, a multiple of 32.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

inline constexpr unsigned kMostStreamThreads = 1024;

constexpr unsigned stream_blocks(std::size_t count, unsigned threads, int unroll) {
  const std::size_t tile = std::size_t{threads} * static_cast<unsigned>(unroll);
  return static_cast<unsigned>((count + tile - 1) / tile);
}

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

// XOR over the block, valid in its first thread. The block's size is a multiple of 32.
__device__ inline std::uint32_t block_xor(std::uint32_t sum) {
  __shared__ std::uint32_t of_warp[kMostStreamThreads / 32];
  for (int lane = 16; lane > 0; lane /= 2) sum ^= __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) sum ^= of_warp[warp];
  return sum;
}

// Calls whole(first) if all kUnroll indices first + u * blockDim.x of a thread are below count,
// otherwise one(i) for each index that is.
template <int kUnroll, class Whole, class One>
__device__ inline void for_tile(std::size_t count, Whole whole, One one) {
  const std::size_t tile = static_cast<std::size_t>(blockIdx.x) * blockDim.x * kUnroll;
  const std::size_t first = tile + threadIdx.x;
  if (tile + blockDim.x * kUnroll <= count)
    whole(first);
  else
    for (std::size_t i = first; i < count; i += blockDim.x) one(i);
}

// Reads sizeof(Vec) x count bytes; partials[block] = XOR of the words that the block read. One
// store per block, since an atomic per warp costs up to half of the rate.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kMostStreamThreads, 1)
    stream_read(const Vec* __restrict__ data, std::size_t count,
                std::uint32_t* __restrict__ partials) {
  std::uint32_t sum = 0;
  for_tile<kUnroll>(
      count,
      [&](std::size_t first) {
        Vec v[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) v[u] = __ldcs(data + first + u * blockDim.x);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) sum ^= Words<Vec>::fold(v[u]);
      },
      [&](std::size_t i) { sum ^= Words<Vec>::fold(data[i]); });
  sum = block_xor(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// Writes sizeof(Vec) x count bytes: word i becomes value ^ i, which does not compress.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kMostStreamThreads, 1)
    stream_write(Vec* __restrict__ data, std::size_t count, std::uint32_t value) {
  const auto write = [&](std::size_t i) { __stcs(data + i, Words<Vec>::pattern(value, i)); };
  for_tile<kUnroll>(
      count,
      [&](std::size_t first) {
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) write(first + u * blockDim.x);
      },
      write);
}

// to = from. Reads and writes sizeof(Vec) x count bytes each.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kMostStreamThreads, 1)
    stream_copy(const Vec* __restrict__ from, Vec* __restrict__ to, std::size_t count) {
  for_tile<kUnroll>(
      count,
      [&](std::size_t first) {
        Vec v[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) v[u] = from[first + u * blockDim.x];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) __stcs(to + first + u * blockDim.x, v[u]);
      },
      [&](std::size_t i) { to[i] = from[i]; });
}

// Copies both ways at once: even blocks copy `there`, odd ones `back`, `count` vectors each. Reads
// and writes 2 x sizeof(Vec) x count bytes each. Launch twice as many blocks.
template <class Vec>
struct CopiedBetween {
  const Vec* from;
  Vec* to;
};
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kMostStreamThreads, 1)
    stream_copy_both(CopiedBetween<Vec> there, CopiedBetween<Vec> back, std::size_t count) {
  const CopiedBetween<Vec> mine = blockIdx.x % 2 == 0 ? there : back;
  const std::size_t first = std::size_t{blockIdx.x / 2} * blockDim.x * kUnroll + threadIdx.x;
  Vec v[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (first + u * blockDim.x < count) v[u] = mine.from[first + u * blockDim.x];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (first + u * blockDim.x < count) __stcs(mine.to + first + u * blockDim.x, v[u]);
}

// a = b + scale * c over FP32: reads 2 x, writes 1 x sizeof(Vec) x count bytes; 2 FLOP per word.
template <class Vec, int kUnroll>
__global__ void __launch_bounds__(kMostStreamThreads, 1)
    stream_triad(Vec* __restrict__ a, const Vec* __restrict__ b, const Vec* __restrict__ c,
                 float scale, std::size_t count) {
  for_tile<kUnroll>(
      count,
      [&](std::size_t first) {
        Vec vb[kUnroll], vc[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          vb[u] = __ldcs(b + first + u * blockDim.x);
          vc[u] = __ldcs(c + first + u * blockDim.x);
        }
#pragma unroll
        for (int u = 0; u < kUnroll; ++u)
          __stcs(a + first + u * blockDim.x, Words<Vec>::triad(vb[u], vc[u], scale));
      },
      [&](std::size_t i) { a[i] = Words<Vec>::triad(b[i], c[i], scale); });
}

}  // namespace peakline::kernels

#pragma once

// Moves blocks between scattered places of two arrays, as engines move the blocks of a KV cache
// between host and device. Bytes of a launch: kMovedAtOnce x `pieces`, read once and written once.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// One way: block from[i] of `source` becomes block to[i] of `target`.
struct ScatteredBlocks {
  const uint4* source;
  uint4* target;
  const unsigned *from, *to;
};

inline constexpr unsigned kMoveThreads = 1024;
inline constexpr int kMoveUnroll = 8;
// A warp moves so many bytes of a block at a time, all loads before the first store: blocks are
// multiples of it.
inline constexpr std::size_t kMovedAtOnce = sizeof(uint4) * 32 * kMoveUnroll;

// Moves `pieces` of kMovedAtOnce bytes, pieces_of_block to a block. With two ways, odd thread
// blocks take the second way: each way has `pieces` / 2. Any number of thread blocks will do, an
// even one for two ways.
static __global__ void __launch_bounds__(kMoveThreads, 1)
    move_blocks(ScatteredBlocks first, ScatteredBlocks second, unsigned ways, unsigned pieces,
                unsigned pieces_of_block) {
  constexpr unsigned kVectors = kMovedAtOnce / sizeof(uint4);
  const ScatteredBlocks way = blockIdx.x % ways == 0 ? first : second;
  const unsigned warps = gridDim.x / ways * (kMoveThreads / 32);
  unsigned piece = blockIdx.x / ways * (kMoveThreads / 32) + threadIdx.x / 32;
  for (; piece < pieces / ways; piece += warps) {
    const unsigned block = piece / pieces_of_block, within = piece % pieces_of_block;
    const std::size_t lane = threadIdx.x % 32 + std::size_t{within} * kVectors;
    const std::size_t block_vectors = std::size_t{pieces_of_block} * kVectors;
    const uint4* from = way.source + way.from[block] * block_vectors + lane;
    uint4* to = way.target + way.to[block] * block_vectors + lane;
    uint4 v[kMoveUnroll];
#pragma unroll
    for (int u = 0; u < kMoveUnroll; ++u) v[u] = __ldcs(from + u * 32);
#pragma unroll
    for (int u = 0; u < kMoveUnroll; ++u) __stcs(to + u * 32, v[u]);
  }
}

// differences += number of words in which the first `count` blocks of one way differ.
static __global__ void reference_moved(ScatteredBlocks way, std::size_t block_words,
                                       std::size_t count, unsigned long long* differences) {
  unsigned long long found = 0;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const auto* source = reinterpret_cast<const std::uint32_t*>(way.source);
  const auto* target = reinterpret_cast<const std::uint32_t*>(way.target);
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count * block_words; i += threads) {
    const std::size_t block = i / block_words, within = i % block_words;
    found += source[way.from[block] * block_words + within] !=
             target[way.to[block] * block_words + within];
  }
  if (found != 0) atomicAdd(differences, found);
}

}  // namespace peakline::kernels

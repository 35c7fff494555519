#pragma once

// Repeated accesses to a footprint that one cache level serves. Vec is as in stream.cuh.

#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

inline constexpr unsigned kMostCacheThreads = 1024;

// Caches that may hold the data: L1 and L2 (the default), or the L2 alone.
struct ThroughL1 {
  template <class Vec>
  static __device__ Vec load(const Vec* from) {
    return *from;
  }
};
struct ThroughL2 {
  template <class Vec>
  static __device__ Vec load(const Vec* from) {
    return __ldcg(from);
  }
};

// The chunks of its block's part that a warp takes.
class Turns {
 public:
  __device__ explicit Turns(unsigned chunks)
      : chunks_(chunks), step_(blockDim.x / 32 % chunks), at_(threadIdx.x / 32 % chunks) {}
  __device__ unsigned next() {
    const unsigned here = at_;
    at_ += step_;
    if (at_ >= chunks_) at_ -= chunks_;
    return here;
  }

 private:
  unsigned chunks_, step_, at_;
};

__device__ inline std::uint32_t sum_of(std::uint32_t v) { return v; }
__device__ inline std::uint32_t sum_of(uint2 v) { return v.x + v.y; }
__host__ __device__ inline std::uint32_t sum_of(uint4 v) { return v.x + v.y + v.z + v.w; }

// Adds the words of this thread's vectors of a chunk of kUnroll x 32: chunk[0], chunk[32], ... All
// loads are issued before the first is used.
template <class Cache, int kUnroll, class Vec>
__device__ std::uint32_t sum_of_chunk(const Vec* chunk, std::uint32_t sum) {
  Vec v[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) v[u] = Cache::load(chunk + 32 * u);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) sum += sum_of(v[u]);
  return sum;
}

// of_warp[warp of the grid] = sum over the warp; without shared memory, which would shrink the L1.
__device__ inline void store_warp_sum(std::uint32_t sum, std::uint32_t* of_warp) {
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) of_warp[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = sum;
}

// Each block has its own part of the footprint, since lines that several SMs read at once would
// cross to them together. A part has `chunks` chunks, which the block's warps take cyclically.
// Reads sizeof(Vec) x threads x kUnroll x trips bytes; of_warp: sum of the words that each warp
// read. Blocks of at most kMostCacheThreads threads, a multiple of 32.
template <class Cache, class Vec, int kUnroll>
__global__ void __launch_bounds__(kMostCacheThreads, 1)
    cached_read(const Vec* data, unsigned chunks, unsigned trips, std::uint32_t* of_warp) {
  constexpr unsigned kChunk = 32 * kUnroll;
  const Vec* part = data + std::size_t{blockIdx.x} * chunks * kChunk + threadIdx.x % 32;
  Turns turns(chunks);
  std::uint32_t sum = 0;
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
    sum = sum_of_chunk<Cache, kUnroll>(part + turns.next() * kChunk, sum);
  }
  store_warp_sum(sum, of_warp);
}

// Each block goes over one tile of the L2; a free SM takes the next block, so that an SM far from
// the L2 does less instead of holding up the others, and no SM keeps to near or far lines. Block b
// works on tile b modulo `tiles`. Launch `blocks` blocks (any more do nothing) of at most
// kMostL2Threads threads, a multiple of 32.
inline constexpr unsigned kL2Tile = 4096;  // vectors of 16 bytes
inline constexpr unsigned kMostL2Threads = 512;

// Calls access(first) for each chunk that the calling warp takes of its block's tile; the thread's
// vectors are first, first + 32, ...
template <int kUnroll, class Access>
__device__ void for_chunks_of_tile(unsigned tiles, Access access) {
  constexpr unsigned kChunk = 32 * kUnroll;
  static_assert(kL2Tile % kChunk == 0);
  const unsigned tile = blockIdx.x % tiles * kL2Tile;
#pragma unroll 1
  for (unsigned chunk = threadIdx.x / 32 * kChunk; chunk < kL2Tile;
       chunk += blockDim.x / 32 * kChunk)
    access(tile + chunk + threadIdx.x % 32);
}

// Reads blocks x kL2Tile vectors past the L1; of_warp as in cached_read().
template <int kUnroll>
__global__ void __launch_bounds__(kMostL2Threads, 1)
    l2_read(const uint4* data, unsigned tiles, unsigned blocks, std::uint32_t* of_warp) {
  if (blockIdx.x >= blocks) return;
  std::uint32_t sum = 0;
  for_chunks_of_tile<kUnroll>(
      tiles, [&](unsigned first) { sum = sum_of_chunk<ThroughL2, kUnroll>(data + first, sum); });
  store_warp_sum(sum, of_warp);
}

// Writes blocks x kL2Tile vectors: word i of the data becomes value ^ i.
template <int kUnroll>
__global__ void __launch_bounds__(kMostL2Threads, 1)
    l2_write(uint4* __restrict__ data, unsigned tiles, unsigned blocks, std::uint32_t value) {
  if (blockIdx.x >= blocks) return;
  for_chunks_of_tile<kUnroll>(tiles, [&](unsigned first) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      __stcg(data + first + 32 * u, Words<uint4>::pattern(value, first + 32 * u));
  });
}

}  // namespace peakline::kernels

#pragma once

#include <cstdint>

namespace peakline::kernels {

// result ^= the words of all threads of the block, kThreads, a multiple of 32. One atomic a block:
// one a warp takes longer than the rest of a short kernel.
template <unsigned kThreads>
__device__ inline void add_block_xor(std::uint32_t word, std::uint32_t* result) {
  __shared__ std::uint32_t of_warp[kThreads / 32];
  for (int lane = 16; lane > 0; lane /= 2) word ^= __shfl_xor_sync(0xffffffffu, word, lane);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = word;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < kThreads / 32; ++warp) word ^= of_warp[warp];
  atomicXor(result, word);
}

}  // namespace peakline::kernels

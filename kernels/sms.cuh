#pragma once

// Work by some of the SMs: launch one block for each, with so much dynamic shared memory that no
// second one fits on its SM.

#include <cstddef>
#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

inline constexpr unsigned kSmsThreads = 1024;
// Bytes of a chunk: a warp moves kBatches times 32 x kUnroll vectors of 16 bytes at once.
template <int kUnroll, int kBatches>
inline constexpr std::size_t kSmsChunk = sizeof(uint4) * 32 * kUnroll* kBatches;

// Counters that hand out chunks, in cache lines of their own: one alone answers some 400 million
// times a second, which an H200's memory outruns with chunks of 8 KiB.
inline constexpr unsigned kSmsCounters = 4, kSmsCounterStride = 32;
// Behind them, how many blocks are done.
inline constexpr unsigned kSmsDone = kSmsCounters * kSmsCounterStride;

// Hands out `total` chunks: calls visit(chunk) in each thread of the warp that took it. A free warp
// takes the next chunk, so that an SM far from the data, or one that shares its way to them, does
// less instead of holding up the others. counters: kSmsDone + 1, 0 at the start and at the end.
template <class Visit>
__device__ inline void take_chunks(unsigned total, unsigned* counters, unsigned* sm_of,
                                   Visit visit) {
  const bool leads = threadIdx.x % 32 == 0;
  for (unsigned i = 0; i < kSmsCounters; ++i) {
    // The others' chunks follow when those of the own counter are taken.
    const unsigned own = (blockIdx.x + i) % kSmsCounters;
    const auto take = [&] {
      return leads ? atomicAdd(counters + own * kSmsCounterStride, 1u) : 0u;
    };
    const auto chunk_of = [&](unsigned of_leader) {
      return __shfl_sync(0xffffffffu, of_leader, 0) * kSmsCounters + own;
    };
    for (unsigned chunk = chunk_of(take()); chunk < total;) {
      const unsigned following = take();  // arrives while this chunk is moved
      visit(chunk);
      chunk = chunk_of(following);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm("mov.u32 %0, %%smid;" : "=r"(sm_of[blockIdx.x]));
  // The last block has no others that still take.
  if (atomicInc(counters + kSmsDone, gridDim.x - 1) != gridDim.x - 1) return;
  for (unsigned i = 0; i < kSmsCounters; ++i) counters[i * kSmsCounterStride] = 0;
}

// of_warp[warp] = sum of the words that the warp reads, sm_of[block] = its SM. Reads `total`
// chunks, going over the data's `chunks` again and again: kSmsChunk x total bytes.
template <int kUnroll, int kBatches>
__global__ void __launch_bounds__(kSmsThreads, 1)
    sms_read(const uint4* __restrict__ data, unsigned chunks, unsigned total,
             std::uint32_t* of_warp, unsigned* counters, unsigned* sm_of) {
  constexpr unsigned kBatch = 32 * kUnroll;
  std::uint32_t sum = 0;
  take_chunks(total, counters, sm_of, [&](unsigned chunk) {
    const uint4* batch = data + std::size_t{chunk % chunks} * kBatches * kBatch + threadIdx.x % 32;
#pragma unroll 1
    for (int i = 0; i < kBatches; ++i, batch += kBatch) {
      uint4 v[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) v[u] = __ldcg(batch + u * 32);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) sum += v[u].x + v[u].y + v[u].z + v[u].w;
    }
  });
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) of_warp[(blockIdx.x * kSmsThreads + threadIdx.x) / 32] = sum;
}

// Writes the data's `chunks` likewise, once: word i becomes value ^ i.
template <int kUnroll, int kBatches>
__global__ void __launch_bounds__(kSmsThreads, 1)
    sms_write(uint4* __restrict__ data, unsigned chunks, std::uint32_t value, unsigned* counters,
              unsigned* sm_of) {
  constexpr unsigned kBatch = 32 * kUnroll;
  take_chunks(chunks, counters, sm_of, [&](unsigned chunk) {
    std::size_t i = std::size_t{chunk} * kBatches * kBatch + threadIdx.x % 32;
#pragma unroll 1
    for (int batch = 0; batch < kBatches; ++batch, i += kBatch)
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        __stcs(data + i + u * 32, Words<uint4>::pattern(value, i + u * 32));
  });
}

}  // namespace peakline::kernels

#pragma once

// Small all-reduces of BF16 between GPUs that reach each other's memory, as inference engines run
// them: kernels write to the other ranks, then wait for flags in their own memory. A device's own
// counters say how many operations there were, so that a graph's replays need no host.

#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>

#include "kernels/peer.cuh"

namespace peakline::kernels {

inline constexpr int kMostRanks = 8;
inline constexpr unsigned kAllReduceThreads = 512;
// With the registers of a whole SM for a block, no value is kept in local memory.
inline constexpr unsigned kLeastBlocksPerSm = 1;

// Memory of the ranks of a series of operations, all with the same grid and size, whose blocks must
// run at the same time: block b of a rank waits for block b of the others. Vectors have 16 bytes.
struct Meeting {
  uint4* staged[kMostRanks];           // one-shot: 2 x ranks x vectors; two-shot: vectors
  uint4* result[kMostRanks];           // vectors
  std::uint32_t* arrived[kMostRanks];  // kMostRanks for each block; 0 before the first operation
  std::uint32_t* done[kMostRanks];     // one for each block: its operations; 0 likewise
};

// Block b's flags of all other ranks become `value`, once what the block has written is visible.
template <int kRanks>
__device__ inline void announce(const Meeting& meeting, int rank, std::uint32_t value) {
  __syncthreads();
  const int other = static_cast<int>(threadIdx.x);
  if (other < kRanks && other != rank)
    set_flag(meeting.arrived[other] + blockIdx.x * kMostRanks + rank, value);
}

// Waits until block b of all other ranks has announced `value`, or more.
template <int kRanks>
__device__ inline void await(const Meeting& meeting, int rank, std::uint32_t value) {
  const int other = static_cast<int>(threadIdx.x);
  if (other < kRanks && other != rank)
    wait_for_flag(meeting.arrived[rank] + blockIdx.x * kMostRanks + other, value);
  __syncthreads();
}

// Sums eight BF16 in FP32 in the order of the ranks, so that all get the same result.
class SumOfVectors {
 public:
  __device__ void add(uint4 vector) {
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&vector);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = __bfloat1622float2(pairs[i]);
      sum_[2 * i] += pair.x;
      sum_[2 * i + 1] += pair.y;
    }
  }
  __device__ uint4 rounded() const {
    uint4 vector;
    auto* pairs = reinterpret_cast<__nv_bfloat162*>(&vector);
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(sum_[2 * i], sum_[2 * i + 1]);
    return vector;
  }

 private:
  float sum_[8] = {};
};

// The sum of own[i] and, of the other ranks, staged[i + other x stride].
template <int kRanks>
__device__ inline uint4 sum_of_ranks(int rank, uint4 own, const uint4* staged, std::size_t stride) {
  uint4 vectors[kRanks];
#pragma unroll
  for (int from = 0; from < kRanks; ++from)
    vectors[from] = from == rank ? own : __ldcg(staged + from * stride);
  SumOfVectors sum;
#pragma unroll
  for (int from = 0; from < kRanks; ++from) sum.add(vectors[from]);
  return sum.rounded();
}

// One step: every rank sends all its data to all others, and sums by itself. Two halves of `staged`
// take turns: a rank that is one operation ahead does not write where the others still read, and no
// rank gets further, since it needs the others' data.
template <int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, kLeastBlocksPerSm)
    one_shot_all_reduce(const uint4* __restrict__ data, std::size_t vectors, int rank,
                        Meeting meeting) {
  const std::uint32_t operation = meeting.done[rank][blockIdx.x] + 1;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x,
                    first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x,
                    half = operation % 2 * kRanks * vectors;
  for (std::size_t i = first; i < vectors; i += step) {
    const uint4 vector = data[i];
#pragma unroll
    for (int other = 0; other < kRanks; ++other)
      if (other != rank) meeting.staged[other][half + rank * vectors + i] = vector;
  }
  announce<kRanks>(meeting, rank, operation);
  await<kRanks>(meeting, rank, operation);
  for (std::size_t i = first; i < vectors; i += step)
    meeting.result[rank][i] =
        sum_of_ranks<kRanks>(rank, data[i], meeting.staged[rank] + half + i, vectors);
  if (threadIdx.x == 0) meeting.done[rank][blockIdx.x] = operation;
}

// Two steps: every rank sums a part, and sends the sum to all others. vectors: a multiple of the
// ranks. A rank that has all results knows that the others have read what it sent them.
template <int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, kLeastBlocksPerSm)
    two_shot_all_reduce(const uint4* __restrict__ data, std::size_t vectors, int rank,
                        Meeting meeting) {
  const std::uint32_t operation = meeting.done[rank][blockIdx.x] + 1, sent = 2 * operation - 1,
                      summed = 2 * operation;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x,
                    first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x,
                    part = vectors / kRanks;
  for (std::size_t i = first; i < part; i += step) {
#pragma unroll
    for (int other = 0; other < kRanks; ++other)
      if (other != rank) meeting.staged[other][rank * part + i] = data[other * part + i];
  }
  announce<kRanks>(meeting, rank, sent);
  await<kRanks>(meeting, rank, sent);
  for (std::size_t i = first; i < part; i += step) {
    const uint4 sum =
        sum_of_ranks<kRanks>(rank, data[rank * part + i], meeting.staged[rank] + i, part);
#pragma unroll
    for (int other = 0; other < kRanks; ++other) meeting.result[other][rank * part + i] = sum;
  }
  announce<kRanks>(meeting, rank, summed);
  await<kRanks>(meeting, rank, summed);
  if (threadIdx.x == 0) meeting.done[rank][blockIdx.x] = operation;
}

}  // namespace peakline::kernels

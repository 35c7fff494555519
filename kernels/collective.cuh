#pragma once

// Inputs and expected results of collective operations. Not timed.

#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// Element i of a rank's contribution: an integer from 0 to 7, so that sums over up to 36 ranks are
// exact in bfloat16 in any order.
__host__ __device__ inline float contribution(int rank, std::size_t i) {
  // SplitMix64's multipliers: neighbours, and ranks, differ.
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ULL + static_cast<unsigned>(rank) * 0xbf58476dULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<float>(z >> 61);
}

// A rank's result: segment s holds the sum of the contributions of `summed` ranks from first_rank +
// s on, each from its element `offset` on.
struct CollectiveResult {
  int first_rank;
  int summed;
  std::size_t segment;  // elements
  std::size_t offset;

  __host__ __device__ float at(std::size_t i) const {
    const int first = first_rank + static_cast<int>(i / segment);
    float sum = 0;
    for (int rank = first; rank < first + summed; ++rank)
      sum += contribution(rank, offset + i % segment);
    return sum;
  }
};

// Writes sizeof(T) x count bytes. Any launch.
template <class T>
__global__ void fill_contribution(T* data, std::size_t count, int rank) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    data[i] = static_cast<T>(contribution(rank, i));
}

// differences += number of elements that differ from the result. Any launch.
template <class T>
__global__ void reference_collective(const T* data, std::size_t count, CollectiveResult result,
                                     unsigned long long* differences) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  unsigned long long found = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    found += !(static_cast<float>(data[i]) == result.at(i));
  if (found != 0) atomicAdd(differences, found);
}

}  // namespace peakline::kernels

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/fill.cuh"
#include "kernels/stream.cuh"

namespace peakline::kernels {

inline constexpr int kGatherInFlight = 4;

// Sector of the g-th access; sectors < 2^32.
__host__ __device__ inline std::uint64_t gathered_sector(std::uint64_t seed, std::uint64_t g,
                                                         std::uint64_t sectors) {
  return (random_bits(seed, g) >> 32) * sectors >> 32;
}

// out[thread] = XOR of what the thread reads of `gathers` sectors of 32 bytes, drawn from `sectors`
// with replacement: 32 x gathers bytes, except what caches hold. Two lanes read the halves of a
// sector; a thread has kGatherInFlight loads in flight. Any launch of whole warps.
static __global__ void random_gather(const uint4* __restrict__ data, std::uint64_t gathers,
                                     std::uint64_t sectors, std::uint64_t seed,
                                     std::uint32_t* out) {
  const std::uint64_t pairs = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / 2;
  const std::uint64_t thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto load = [&](std::uint64_t g) {
    return data[2 * gathered_sector(seed, g, sectors) + thread % 2];
  };
  std::uint32_t sum = 0;
  std::uint64_t g = thread / 2;
#pragma unroll 1
  for (; g + (kGatherInFlight - 1) * pairs < gathers; g += kGatherInFlight * pairs) {
    uint4 v[kGatherInFlight];
#pragma unroll
    for (int u = 0; u < kGatherInFlight; ++u) v[u] = load(g + u * pairs);
#pragma unroll
    for (int u = 0; u < kGatherInFlight; ++u) sum ^= Words<uint4>::fold(v[u]);
  }
#pragma unroll 1
  for (; g < gathers; g += pairs) sum ^= Words<uint4>::fold(load(g));
  out[thread] = sum;
}

// result ^= XOR of the sectors that random_gather reads. Any launch.
static __global__ void reference_gather(const std::uint32_t* data, std::uint64_t gathers,
                                        std::uint64_t sectors, std::uint64_t seed,
                                        std::uint32_t* result) {
  constexpr int kWords = 8;
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  std::uint32_t sum = 0;
  for (std::uint64_t g = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       g < gathers; g += threads)
    for (int w = 0; w < kWords; ++w) sum ^= data[kWords * gathered_sector(seed, g, sectors) + w];
  atomicXor(result, sum);
}

}  // namespace peakline::kernels

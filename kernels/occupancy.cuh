#pragma once

// Known numbers of loads and FMAs in flight.

#include <cstddef>
#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

// Two of the largest blocks fit if a thread's loads leave it 32 registers.
template <int kInFlight>
inline constexpr int kOccupancyBlocks = kInFlight <= 4 ? 2 : 1;

// out[thread] = XOR of what the thread reads of data[0...count), each vector once: 16 x count
// bytes. A thread waits for kInFlight loads before the next. Launch as many threads as should be
// resident.
template <int kInFlight>
__global__ void __launch_bounds__(1024, kOccupancyBlocks<kInFlight>)
    occupancy_read(const uint4* __restrict__ data, std::size_t count, std::uint32_t* out) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint32_t sum = 0;
  std::size_t i = thread;
#pragma unroll 1
  for (; i + (kInFlight - 1) * threads < count; i += kInFlight * threads) {
    uint4 v[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) v[u] = data[i + u * threads];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) sum ^= Words<uint4>::fold(v[u]);
  }
#pragma unroll 1
  for (; i < count; i += threads) sum ^= Words<uint4>::fold(data[i]);
  out[thread] = sum;
}

// FMAs of a chain per trip, so that the loop costs little even with a single chain.
inline constexpr int kOccupancyFmas = 128;
// x + x * factor = -(1 - 2^-17) * x: the significand changes throughout.
inline constexpr float kOccupancyFactor = -2 + 0x1p-17f;

// out[t] = sum of kChains chains that start at start[t % 32] * (c + 1) and take trips x
// kOccupancyFmas steps x = x * factor + x, one FMA each. An FMA reads only one register and a
// constant: of three registers at least two share one of the two banks, which costs an H200 a
// second clock unless the thread's last instruction read them too (one chain reaches half of the
// rate, two chains two thirds, at any number of warps).
template <int kChains>
__global__ void __launch_bounds__(1024, 2)
    occupancy_fma(const float* start, float* out, int trips) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  float x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = start[thread % 32] * static_cast<float>(c + 1);
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
    for (int u = 0; u < kOccupancyFmas; ++u) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) x[c] = fmaf(x[c], kOccupancyFactor, x[c]);
    }
  }
  float sum = x[0];
#pragma unroll
  for (int c = 1; c < kChains; ++c) sum += x[c];
  out[thread] = sum;
}

}  // namespace peakline::kernels

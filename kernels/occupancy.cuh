#pragma once

// Known numbers of loads and FMAs in flight.

#include <cstddef>
#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

// Two blocks of the largest size where a thread's loads leave it 32 registers.
template <int kInFlight>
inline constexpr int kOccupancyBlocks = kInFlight <= 4 ? 2 : 1;

// out[thread] = XOR of what the thread reads of data[0...count), each vector read once: 16 x count
// bytes. A thread issues kInFlight loads, waits for them, and issues the next. Launch as many
// threads as are to be resident.
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

// FMAs of a chain per trip, so that the loop costs little even beside a single chain.
inline constexpr int kOccupancyFmas = 128;
// x + x * factor = -(1 - 2^-17) * x: the significand changes throughout.
inline constexpr float kOccupancyFactor = -2 + 0x1p-17f;

// out[t] = sum of kChains chains that start at start[t % 32] * (c + 1) and go through trips x
// kOccupancyFmas steps x = x * factor + x: as many FMAs a chain. One register and a constant are
// all that an FMA reads: with three registers, of which at least two are in one of the two banks,
// an H200 takes two clocks for it unless the thread's last instruction read them too, so that one
// chain reaches half of the rate and two chains two thirds, however many warps there are.
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

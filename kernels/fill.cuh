#pragma once

// Random data. Counter-based, so that any element can be computed anywhere, also on the host, and
// does not depend on the launch. Real ceilings need random data: constant data compresses, and bits
// that do not toggle cost less power.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

// SplitMix64 (Steele, Lea, Flood 2014) of seed and index: 64 random bits.
__host__ __device__ inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Uniform in (0, 1].
__host__ __device__ inline float unit_interval(std::uint32_t bits) {
  return (static_cast<float>(bits >> 8) + 1.0f) * 0x1p-24f;
}

// Standard normal, by Box and Muller.
__device__ inline float random_normal(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, index);
  const float radius = sqrtf(-2.0f * logf(unit_interval(static_cast<std::uint32_t>(bits))));
  return radius * cospif(2.0f * unit_interval(static_cast<std::uint32_t>(bits >> 32)));
}

template <class T>
__device__ inline T from_float(float value) {
  return static_cast<T>(value);
}
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

// Random 32-bit words. Writes 4 x count bytes. Any launch.
static __global__ void fill_bits(std::uint32_t* data, std::size_t count, std::uint64_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    data[i] = static_cast<std::uint32_t>(random_bits(seed, i));
}

// Normally distributed numbers of type T. Writes sizeof(T) x count bytes. Any launch.
template <class T>
__global__ void fill_normal(T* data, std::size_t count, std::uint64_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    data[i] = from_float<T>(random_normal(seed, i));
}

}  // namespace peakline::kernels

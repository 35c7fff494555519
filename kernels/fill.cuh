#pragma once

// Random data, counter-based, so that any element can be computed anywhere, also on the host.
// Ceilings need random data: constant data compress, and bits that do not toggle cost less power.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/distribution.cuh"

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

__host__ __device__ inline double unit_interval(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 1.0) * 0x1p-53;
}

// The type in which random numbers of type T are computed.
template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Standard normal numbers by Box-Muller. R: float or double.
template <class R = float>
__device__ inline R random_normal(std::uint64_t seed, std::uint64_t index) {
  if constexpr (std::is_same_v<R, double>) {
    const double radius = sqrt(-2.0 * log(unit_interval(random_bits(seed, 2 * index))));
    return radius * cospi(2.0 * unit_interval(random_bits(seed, 2 * index + 1)));
  } else {
    const std::uint64_t bits = random_bits(seed, index);
    const float radius = sqrtf(-2.0f * logf(unit_interval(static_cast<std::uint32_t>(bits))));
    return radius * cospif(2.0f * unit_interval(static_cast<std::uint32_t>(bits >> 32)));
  }
}

template <class T>
__device__ inline T from_real(Real<T> value) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<std::int8_t>(fminf(fmaxf(rintf(value), -127.0f), 127.0f));
  else
    return static_cast<T>(value);
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
    data[i] = from_real<T>(random_normal<Real<T>>(seed, i));
}

template <class R>
__device__ inline R random_number(Distribution distribution, std::uint64_t seed,
                                  std::uint64_t index) {
  switch (distribution) {
    case Distribution::kNormal:
      return random_normal<R>(seed, index);
    case Distribution::kZeros:
      return R{0};
    case Distribution::kHalfZeros:
      // Another seed, since the number itself uses these bits.
      return (random_bits(~seed, index) & 1) != 0 ? random_normal<R>(seed, index) : R{0};
  }
  return R{0};
}

// Numbers of this distribution, times `scale`. Writes sizeof(T) x count bytes. Any launch.
template <class T>
__global__ void fill_numbers(T* data, std::size_t count, Distribution distribution, Real<T> scale,
                             std::uint64_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    data[i] = from_real<T>(scale * random_number<Real<T>>(distribution, seed, i));
}

}  // namespace peakline::kernels

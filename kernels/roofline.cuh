#pragma once

// Elements from device memory, each with a number of FMAs: the measured roofline in one kernel.

#include <cstddef>
#include <cstdint>

#include "kernels/stream.cuh"

namespace peakline::kernels {

inline constexpr int kRooflineThreads = 256;
// 16-byte loads in flight per thread; their elements are the independent chains.
inline constexpr int kRooflineUnroll = 4;

template <class T>
struct Vec16;
template <>
struct Vec16<float> {
  using type = float4;
  static constexpr int kElements = 4;
};
template <>
struct Vec16<double> {
  using type = double2;
  static constexpr int kElements = 2;
};

// Takes as many whole groups of kStep steps x = x * a + b as fit, for all elements; returns the
// steps left. The loop has three instructions besides its FMAs.
template <int kStep, int kElements, class T>
__device__ inline int fma_groups(T (&x)[kElements], T a, T b, int left) {
#pragma unroll 1
  for (; left >= kStep; left -= kStep) {
#pragma unroll
    for (int step = 0; step < kStep; ++step) {
#pragma unroll
      for (int e = 0; e < kElements; ++e) x[e] = fma(x[e], a, b);
    }
  }
  return left;
}

// Reads 16 x vectors bytes, once. Each element takes fma_per_element steps x = x * a + b; FLOPs: 2
// x fma_per_element per element. Integer operations combine the results into `result`, so that 0
// FMAs are 0 FLOPs. vectors must be a multiple of kRooflineThreads x kRooflineUnroll; a multiple of
// that times the grid gives all blocks equal shares.
template <class T>
__global__ void __launch_bounds__(kRooflineThreads)
    roofline_sweep(const typename Vec16<T>::type* __restrict__ data, std::size_t vectors, T a, T b,
                   int fma_per_element, std::uint32_t* result) {
  using Vec = typename Vec16<T>::type;
  constexpr int kElements = kRooflineUnroll * Vec16<T>::kElements;
  constexpr std::size_t kTile = static_cast<std::size_t>(kRooflineThreads) * kRooflineUnroll;
  std::uint32_t sum = 0;
  for (std::size_t tile = blockIdx.x * kTile; tile < vectors; tile += gridDim.x * kTile) {
    union Chunk {
      Vec vec[kRooflineUnroll];
      T element[kElements];
      std::uint32_t word[kRooflineUnroll * 4];
      __device__ Chunk() {}
    } chunk;
#pragma unroll
    for (int u = 0; u < kRooflineUnroll; ++u)
      chunk.vec[u] = __ldcs(data + tile + u * kRooflineThreads + threadIdx.x);
    int left = fma_groups<32>(chunk.element, a, b, fma_per_element);
    left = fma_groups<8>(chunk.element, a, b, left);
    fma_groups<1>(chunk.element, a, b, left);
#pragma unroll
    for (int w = 0; w < kRooflineUnroll * 4; ++w) sum ^= chunk.word[w];
  }
  sum = block_xor(sum);
  if (threadIdx.x == 0) atomicXor(result, sum);
}

}  // namespace peakline::kernels

#pragma once

// Elements loaded from device memory, each with a chosen number of FMAs: the measured curve under
// the roofline, from memory-bound to compute-bound, in one kernel.

#include <cstddef>
#include <cstdint>

#include "kernels/clock.cuh"

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

// Reads 16 x vectors bytes, once. Each element x becomes x * a + b, fma_per_element times; FLOPs: 2
// x fma_per_element per element. All results are combined into `result` with integer operations, so
// that 0 FMAs are 0 FLOPs, and one atomic per warp. vectors must be a multiple of kRooflineThreads
// x kRooflineUnroll.
template <class T>
__global__ void __launch_bounds__(kRooflineThreads)
    roofline_sweep(const typename Vec16<T>::type* __restrict__ data, std::size_t vectors, T a, T b,
                   int fma_per_element, std::uint32_t* result, std::uint64_t* cycles,
                   std::uint64_t* nanoseconds) {
  using Vec = typename Vec16<T>::type;
  constexpr int kElements = Vec16<T>::kElements;
  constexpr std::size_t kTile = static_cast<std::size_t>(kRooflineThreads) * kRooflineUnroll;
  const ClockReading begin = read_clocks();
  std::uint32_t sum = 0;
  for (std::size_t tile = blockIdx.x * kTile; tile < vectors; tile += gridDim.x * kTile) {
    union Chunk {
      Vec vec[kRooflineUnroll];
      T element[kRooflineUnroll * kElements];
      std::uint32_t word[kRooflineUnroll * 4];
      __device__ Chunk() {}
    } chunk;
#pragma unroll
    for (int u = 0; u < kRooflineUnroll; ++u)
      chunk.vec[u] = __ldcs(data + tile + u * kRooflineThreads + threadIdx.x);
    int left = fma_per_element;
    for (; left >= 8; left -= 8) {
#pragma unroll
      for (int step = 0; step < 8; ++step) {
#pragma unroll
        for (int e = 0; e < kRooflineUnroll * kElements; ++e)
          chunk.element[e] = fma(chunk.element[e], a, b);
      }
    }
    for (; left > 0; --left) {
#pragma unroll
      for (int e = 0; e < kRooflineUnroll * kElements; ++e)
        chunk.element[e] = fma(chunk.element[e], a, b);
    }
#pragma unroll
    for (int w = 0; w < kRooflineUnroll * 4; ++w) sum ^= chunk.word[w];
  }
  for (int lane = 16; lane > 0; lane /= 2) sum ^= __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) atomicXor(result, sum);
  if (blockIdx.x == 0 && threadIdx.x == 0) put_clock_stamp(begin, cycles, nanoseconds);
}

}  // namespace peakline::kernels

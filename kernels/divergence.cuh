#pragma once

// Every thread does equal arithmetic on one of `paths` code paths. Paths within a warp run one
// after the other; paths split between warps cost nothing.

#include <utility>

namespace peakline::kernels {

inline constexpr int kMaxPaths = 32;
inline constexpr int kDivergenceChains = 4;
// FMAs per chain and trip: enough that the trip's three other instructions are 5 %, few enough that
// all 32 bodies (1.1 KiB each) fit the instruction caches: on an H200, 32 bodies run by different
// warps are as fast as one to within 1 %; of twice the size, they are 13 % slower.
inline constexpr int kDivergenceUnroll = 16;

template <int kPath>
__device__ void path_body(float (&x)[kDivergenceChains], float a, float b, int trips) {
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {
    // A different statement in each path keeps the compiler from merging equal bodies.
    asm volatile("// path %0" ::"n"(kPath));
#pragma unroll
    for (int u = 0; u < kDivergenceUnroll; ++u) {
#pragma unroll
      for (int c = 0; c < kDivergenceChains; ++c) x[c] = fmaf(x[c], a, b);
    }
  }
}

template <int... kPath>
__device__ void run_path(std::integer_sequence<int, kPath...>, int path,
                         float (&x)[kDivergenceChains], float a, float b, int trips) {
  ((path == kPath ? path_body<kPath>(x, a, b, trips) : void()), ...);
}

// Thread t takes path (t / group) % paths: group 1 splits inside warps, group 32 between them.
// FLOPs: 2 x kDivergenceChains x kDivergenceUnroll x trips per thread, for any number of paths.
// Reads 128 bytes, which stay in cache; writes 4 bytes per thread. out[t] = sum of the chains,
// which start at start[t % 32] + c.
static __global__ void divergence(const float* start, float a, float b, int trips, int group,
                                  int paths, float* out) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int path = thread / group % paths;
  float x[kDivergenceChains];
#pragma unroll
  for (int c = 0; c < kDivergenceChains; ++c) x[c] = start[thread % 32] + static_cast<float>(c);
  run_path(std::make_integer_sequence<int, kMaxPaths>(), path, x, a, b, trips);
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kDivergenceChains; ++c) sum += x[c];
  out[thread] = sum;
}

}  // namespace peakline::kernels

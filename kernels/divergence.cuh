#pragma once

// The same amount of arithmetic for every thread, on one of `paths` different code paths: inside a
// warp the paths run one after the other, between warps they cost nothing.

#include <utility>

namespace peakline::kernels {

inline constexpr int kMaxPaths = 32;
inline constexpr int kDivergenceChains = 4;
// FMAs of a chain and trip. Few, so that all 32 bodies together (32 loops of 4 x 2 FMAs and some
// instructions more, 16 bytes each: 6 KiB) fit the innermost instruction cache, which the warps of
// a scheduler share: beyond it, even paths of their own for whole warps cost.
inline constexpr int kDivergenceUnroll = 2;

template <int kPath>
__device__ void path_body(float (&x)[kDivergenceChains], float a, float b, int trips) {
  for (int trip = 0; trip < trips; ++trip) {
    // A statement of its own in each path, or the compiler may fold the equal bodies into one.
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
// FLOPs: 2 x kDivergenceChains x kDivergenceUnroll x trips a thread, whatever the paths. Reads 128
// bytes, which caches hold; writes 4 bytes a thread.
// out[t] = sum of the chains, which start at start[t % 32] + c.
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

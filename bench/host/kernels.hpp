#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/host/facts.hpp"

namespace peakline::bench {

// The kernels of one extension; kernels/host/ states the bytes and FLOPs of one launch.
struct HostKernels {
  host::VectorExtension extension;
  // x * a + b is rounded once. Otherwise it is a multiplication and an addition, also 2 FLOP.
  bool fused;
  bool streaming_stores;  // bypass the caches
  int fma_chains;         // independent chains, one vector each
  int vector_bytes;

  void (*fma_fp32)(const float* in, float* out, float a, float b, std::int64_t steps);
  void (*fma_fp64)(const double* in, double* out, double a, double b, std::int64_t steps);
  std::uint64_t (*read_sum)(const std::uint64_t* data, std::size_t words);
  void (*copy)(std::uint64_t* to, const std::uint64_t* from, std::size_t words);
  void (*triad)(double* a, const double* b, const double* c, double scale, std::size_t count);
  std::uint32_t (*sweep_fp32)(const float* data, std::size_t count, std::int64_t fma_per_element,
                              float a, float b);
};

// Those that this CPU can run, narrowest first; never empty.
std::vector<const HostKernels*> supported_host_kernels();
const HostKernels& widest_host_kernels();

// Pull x from [1, 2) toward 1.5 so slowly that values still differ after thousands of steps: with
// equal operands fewer bits toggle, and the clock may rise.
template <class T>
inline constexpr T kFmaFactor = static_cast<T>(1 - 0x1p-14);
template <class T>
inline constexpr T kFmaAddend = static_cast<T>(1.5 * 0x1p-14);

// One lane of x = x * a + b, `steps` times, in plain C++: the kernels' bitwise reference.
template <class T>
T reference_fma_chain(bool fused, T x, T a, T b, std::int64_t steps);

}  // namespace peakline::bench

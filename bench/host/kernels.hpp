#pragma once

// The host kernels of every vector extension in this build; one is chosen at run time.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/host/facts.hpp"

namespace peakline::bench {

// The kernels of one extension; kernels/host/ states what each does and the bytes and FLOPs of one
// launch.
struct HostKernels {
  host::VectorExtension extension;
  // Whether x * a + b is rounded once. Otherwise it is a multiplication and an addition, which is
  // also 2 FLOP.
  bool fused;
  bool streaming_stores;  // they bypass the caches
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

// The ones that this CPU can run, narrowest first; never empty.
std::vector<const HostKernels*> supported_host_kernels();
const HostKernels& widest_host_kernels();

// x = x * a + b with these pulls x from [1, 2) toward 1.5 so slowly that all values still differ
// after thousands of steps: with equal operands fewer bits toggle, and the clock may go higher.
template <class T>
inline constexpr T kFmaFactor = static_cast<T>(1 - 0x1p-14);
template <class T>
inline constexpr T kFmaAddend = static_cast<T>(1.5 * 0x1p-14);

// x = x * a + b, `steps` times, one lane in plain C++: the reference for the kernels, bit for bit.
// fused: HostKernels::fused.
template <class T>
T reference_fma_chain(bool fused, T x, T a, T b, std::int64_t steps);

}  // namespace peakline::bench

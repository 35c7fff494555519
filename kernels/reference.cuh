#pragma once

// Simple kernels that verify the fast ones at full size, in any launch; tests/gpu compares them
// with the host. Each reads its arrays once; none is timed.

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

__device__ inline std::size_t thread_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t thread_count() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

// result ^= XOR of the groups 0, stride, 2 x stride, ..., `groups` in total, of `width` words each.
static __global__ void reference_xor(const std::uint32_t* data, std::size_t groups,
                                     std::size_t width, std::size_t stride, std::uint32_t* result) {
  std::uint32_t sum = 0;
  for (std::size_t i = thread_index(); i < groups; i += thread_count())
    for (std::size_t w = 0; w < width; ++w) sum ^= data[i * stride * width + w];
  atomicXor(result, sum);
}

// result += sum of `count` words in parts of `part` words, each part read cyclically until `total`
// words of it have been read.
static __global__ void reference_repeated_sum(const std::uint32_t* data, std::size_t count,
                                              std::size_t part, std::size_t total,
                                              std::uint32_t* result) {
  std::uint32_t sum = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count())
    sum += data[i] * static_cast<std::uint32_t>(total / part + (i % part < total % part));
  atomicAdd(result, sum);
}

// differences += number of words in which a and b differ.
static __global__ void reference_compare(const std::uint32_t* a, const std::uint32_t* b,
                                         std::size_t count, unsigned long long* differences) {
  unsigned long long found = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) found += a[i] != b[i];
  if (found != 0) atomicAdd(differences, found);
}

// differences += number of i with a[i] != b[i] + scale * c[i], rounded once.
static __global__ void reference_triad(const float* a, const float* b, const float* c, float scale,
                                       std::size_t count, unsigned long long* differences) {
  unsigned long long found = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count())
    found += a[i] != fmaf(scale, c[i], b[i]);
  if (found != 0) atomicAdd(differences, found);
}

// differences += number of i with a[i] != data[i] + data[count + i] + ..., added in the order of
// the arrays with each sum rounded.
static __global__ void reference_sum(const float* a, const float* data, int arrays,
                                     std::size_t count, unsigned long long* differences) {
  unsigned long long found = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    float sum = data[i];
    for (int array = 1; array < arrays; ++array) sum += data[array * count + i];
    found += a[i] != sum;
  }
  if (found != 0) atomicAdd(differences, found);
}

// differences += number of words other than `value`.
static __global__ void reference_constant(const std::uint32_t* a, std::uint32_t value,
                                          std::size_t count, unsigned long long* differences) {
  unsigned long long found = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) found += a[i] != value;
  if (found != 0) atomicAdd(differences, found);
}

// differences += number of words i other than value ^ i (low 32 bits).
static __global__ void reference_pattern(const std::uint32_t* a, std::uint32_t value,
                                         std::size_t count, unsigned long long* differences) {
  unsigned long long found = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count())
    found += a[i] != (value ^ static_cast<std::uint32_t>(i));
  if (found != 0) atomicAdd(differences, found);
}

// result ^= bits of each element after fma_per_element steps x = x * a + b, each rounded once.
template <class T>
__global__ void reference_fma_xor(const T* data, std::size_t count, T a, T b, int fma_per_element,
                                  std::uint32_t* result) {
  std::uint32_t sum = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    T x = data[i];
    for (int step = 0; step < fma_per_element; ++step) x = fma(x, a, b);
    if constexpr (sizeof(T) == sizeof(double))
      sum ^= static_cast<std::uint32_t>(__double2loint(x)) ^
             static_cast<std::uint32_t>(__double2hiint(x));
    else
      sum ^= __float_as_uint(x);
  }
  atomicXor(result, sum);
}

}  // namespace peakline::kernels

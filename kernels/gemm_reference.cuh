#pragma once

// Single elements of a matrix product in FP64, as a reference for fast products.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace peakline::kernels {

inline constexpr int kReferenceThreads = 128;

template <class T>
__device__ inline double to_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

// Element (line, l) of an operand is at line x line_step + l x k_step.
struct OperandSteps {
  std::int64_t line, k;
};

// *result = sum over l < k of x(l) * w(l), by the whole block.
template <class X, class W>
__device__ inline void sum_products(X x, W w, std::int64_t k, double* result) {
  __shared__ double partial[kReferenceThreads];
  double sum = 0;
  for (std::int64_t l = threadIdx.x; l < k; l += kReferenceThreads) sum += x(l) * w(l);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kReferenceThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < static_cast<unsigned>(half))
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = partial[0];
  __syncthreads();  // the next sum uses the same memory
}

// reference[s] = sum over l < k of x(row[s], l) * w(column[s], l), in FP64. Reads k elements of
// each operand and does 2 k FLOPs per sample. Launch <<<samples, kReferenceThreads>>>.
template <class X, class W>
__global__ void gemm_reference(const X* x, OperandSteps x_steps, const W* w, OperandSteps w_steps,
                               std::int64_t k, const std::int64_t* row, const std::int64_t* column,
                               double* reference) {
  const X* const left = x + x_steps.line * row[blockIdx.x];
  const W* const right = w + w_steps.line * column[blockIdx.x];
  sum_products([=](std::int64_t l) { return to_double(left[l * x_steps.k]); },
               [=](std::int64_t l) { return to_double(right[l * w_steps.k]); }, k,
               reference + blockIdx.x);
}

// found[s] = y[row[s] x columns + column[s]]. Launch at least `samples` threads.
template <class Y>
__global__ void gather_elements(const Y* y, std::int64_t columns, const std::int64_t* row,
                                const std::int64_t* column, std::size_t samples, double* found) {
  const std::size_t s = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (s < samples) found[s] = to_double(y[row[s] * columns + column[s]]);
}

}  // namespace peakline::kernels

#pragma once

// Single elements of a matrix product in FP64, to check fast products against.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

namespace peakline::kernels {

inline constexpr int kReferenceThreads = 128;

// For each sample s: reference[s] = sum over l of a[l + k * row[s]] * b[l + k * column[s]] in FP64.
// Launch
// <<<samples, kReferenceThreads>>>.
template <class T>
__global__ void gemm_reference(const T* a, const T* b, std::int64_t k, const std::int64_t* row,
                               const std::int64_t* column, double* reference) {
  __shared__ double partial[kReferenceThreads];
  const T* const left = a + k * row[blockIdx.x];
  const T* const right = b + k * column[blockIdx.x];
  double sum = 0;
  for (std::int64_t l = threadIdx.x; l < k; l += kReferenceThreads)
    sum += static_cast<double>(static_cast<float>(left[l])) *
           static_cast<double>(static_cast<float>(right[l]));
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kReferenceThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < static_cast<unsigned>(half))
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) reference[blockIdx.x] = partial[0];
}

}  // namespace peakline::kernels

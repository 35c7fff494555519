#pragma once

// The device code that the GEMM benchmarks launch themselves: operands, single reference elements.

#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/cuda/resources.hpp"
#include "kernels/distribution.cuh"

namespace peakline::bench {

// Of CUDA_R_64F, 32F, 32I, 16F, 16BF, 8I, 8F_E4M3 and 8F_E5M2; std::logic_error for others.
std::size_t bytes_of(cudaDataType_t type);

// Device memory of `count` numbers of a type that is known at run time; not initialized.
class Numbers {
 public:
  Numbers() = default;
  Numbers(cudaDataType_t type, std::size_t count)
      : type_(type), count_(count), memory_(count * bytes_of(type)) {}

  cudaDataType_t type() const { return type_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return memory_.size(); }
  std::byte* data() const { return memory_.data(); }

  // Random numbers of standard deviation 1 or what the distribution says; INT8: times 32, rounded.
  void fill(kernels::Distribution distribution, std::uint64_t seed) const;
  // What shows as wrong wherever no result was written: NaN, INT32: -1. Ahead of what the stream is
  // given next.
  void poison(cudaStream_t stream) const;

 private:
  cudaDataType_t type_ = CUDA_R_32F;
  std::size_t count_ = 0;
  cuda::DeviceBuffer<std::byte> memory_;
};

// How far apart in memory two neighbours are: of the same k, and along k.
struct Steps {
  std::int64_t line = 0, k = 0;
};

// The elements (rows[s], columns[s]) of X W^T in FP64; as many rows as columns.
std::vector<double> reference_elements(const Numbers& x, Steps x_steps, const Numbers& w,
                                       Steps w_steps, std::int64_t k,
                                       const std::vector<std::int64_t>& rows,
                                       const std::vector<std::int64_t>& columns);

// The elements (rows[s], columns[s]) of Y, which has `width` columns and lies row by row.
std::vector<double> elements(const Numbers& y, std::int64_t width,
                             const std::vector<std::int64_t>& rows,
                             const std::vector<std::int64_t>& columns);

}  // namespace peakline::bench

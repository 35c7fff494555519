#pragma once

// Operands of GEMMs in device memory, and reference elements.

#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/cuda/resources.hpp"
#include "kernels/distribution.cuh"
#include "kernels/number_formats.cuh"

namespace peakline::kernels {
struct DifferenceLog;
}

namespace peakline::bench {

// Bytes of `count` elements of CUDA_R_64F, 32F, 32I, 16F, 16BF, 8I, 8F_E4M3, 8F_E5M2 or 4F_E2M1;
// std::logic_error for others.
std::size_t bytes_of(cudaDataType_t type, std::size_t count = 1);

// `count` numbers in device memory, of a type known only at run time; not initialized.
class Numbers {
 public:
  Numbers() = default;
  Numbers(cudaDataType_t type, std::size_t count)
      : type_(type), count_(count), memory_(bytes_of(type, count)) {}

  cudaDataType_t type() const { return type_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return memory_.size(); }
  std::byte* data() const { return memory_.data(); }

  // Random numbers of this distribution, INT8 times 32 and rounded.
  void fill(kernels::Distribution distribution, std::uint64_t seed) const;
  // Enqueues a fill with NaN (INT32: -1), so that elements without a result show up as wrong.
  void poison(cudaStream_t stream) const;

 private:
  cudaDataType_t type_ = CUDA_R_32F;
  std::size_t count_ = 0;
  cuda::DeviceBuffer<std::byte> memory_;
};

// Block scales of an operand, sized for the largest shape; smaller shapes use the front part.
class Scales {
 public:
  Scales() = default;
  Scales(const kernels::BlockFormat& format, std::size_t bytes, std::uint64_t seed);
  std::uint8_t* data() const { return memory_.data(); }

 private:
  cuda::DeviceBuffer<std::uint8_t> memory_;
};
// Random numbers of this distribution, rounded to the format's elements.
void fill_blocks(const Numbers& elements, const kernels::BlockFormat& format,
                 kernels::Distribution distribution, std::uint64_t seed);

// Strides in elements: between lines at one k, and along k within a line.
struct Steps {
  std::int64_t line = 0, k = 0;
};

// The elements (rows[s], columns[s]) of X W^T in FP64; `rows` and `columns` have equal sizes.
std::vector<double> reference_elements(const Numbers& x, Steps x_steps, const Numbers& w,
                                       Steps w_steps, std::int64_t k,
                                       const std::vector<std::int64_t>& rows,
                                       const std::vector<std::int64_t>& columns);

// An operand with block scales and contiguous lines.
struct BlockOperand {
  const Numbers& elements;
  const Scales& scales;
  const kernels::BlockFormat& format;
  std::int64_t lines = 0;
};
// Sums of products, and the sums of the products' squares.
struct ReferenceSums {
  std::vector<double> sums, squares;
};
ReferenceSums reference_elements(const BlockOperand& x, const BlockOperand& w, std::int64_t k,
                                 const std::vector<std::int64_t>& rows,
                                 const std::vector<std::int64_t>& columns);

// A product X W^T (m x n, summed over k). An element is right within `absolute` + `relative` x
// |sum| of `scale` x its sum.
struct CheckedProduct {
  const Numbers& x;
  Steps x_steps;
  const Numbers& w;
  Steps w_steps;
  const Numbers& y;
  std::int64_t m, n, k;
  double scale, absolute, relative;
};
// Recomputes every element by a plain kernel, in FP64 or INT32 like Y or in FP32, and logs wrong
// ones. Waits.
void check_every_element(const CheckedProduct& product, kernels::DifferenceLog* log);

// Lines from `first` on as elements of `type`, which must hold their values; k contiguous. Waits.
Numbers packed_lines(const Numbers& operand, Steps steps, std::int64_t first, std::int64_t lines,
                     std::int64_t k, cudaDataType_t type);

// The elements (rows[s], columns[s]) of Y, row-major with `width` columns.
std::vector<double> elements(const Numbers& y, std::int64_t width,
                             const std::vector<std::int64_t>& rows,
                             const std::vector<std::int64_t>& columns);

}  // namespace peakline::bench

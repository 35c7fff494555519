#pragma once

// The device code that the GEMM benchmarks launch themselves: operands and reference elements.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/cuda/resources.hpp"

namespace peakline::bench {

// Of float, __half and __nv_bfloat16:

// `count` standard normal numbers.
template <class T>
cuda::DeviceBuffer<T> normal_matrix(std::size_t count, std::uint64_t seed);

// The elements (rows[s], columns[s]) of A^T x B in FP64, both operands k x ... and column-major.
template <class T>
std::vector<double> reference_elements(const cuda::DeviceBuffer<T>& a,
                                       const cuda::DeviceBuffer<T>& b, std::int64_t k,
                                       const std::vector<std::int64_t>& rows,
                                       const std::vector<std::int64_t>& columns);

}  // namespace peakline::bench

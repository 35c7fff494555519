#pragma once

namespace peakline::kernels {

// The data of the operands of a matrix product.
enum class Distribution {
  kNormal,     // standard deviation 1
  kZeros,      // 0
  kHalfZeros,  // normal, every element 0 with a probability of 1/2
};

}  // namespace peakline::kernels

#pragma once

namespace peakline::kernels {

// The data of the operands of a matrix product.
enum class Distribution {
  kNormal,          // standard deviation 1
  kUniform,         // between -1 and 1
  kConstant,        // 1
  kZeros,           // 0
  kLowBitsCleared,  // normal, all but the first `kept_bits` of the significand's fraction cleared
  kHalfZeros,       // normal, every element 0 with a probability of 1/2
};

}  // namespace peakline::kernels

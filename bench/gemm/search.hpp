#pragma once

// Finds the GEMM that represents a format: shape, layout and algorithm. Quick and full runs have
// the same candidates, and choose alike among equally fast ones.

#include <cstdint>
#include <vector>

#include "bench/gemm/product.hpp"

namespace peakline::bench {

struct Candidate {
  GemmShape shape;
  Layout layout = Layout::kTN;
  GemmAlgorithm algorithm;
};

// M and N of GEMMs whose 128 x 256 tiles fill `sms` SMs a whole number of times, or nearly. The
// number of tiles along M is even, as kernels run in clusters of two.
struct Sides {
  std::int64_t m = 0, n = 0;
  bool operator==(const Sides&) const = default;
};
std::vector<Sides> full_wave_sides(std::int64_t sms);

Product product_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
                   kernels::Distribution distribution = kernels::Distribution::kNormal);

// The fastest GEMM of a format from rest; sustained loads run it too. Searched once per worker;
// notes the number of candidates. Skips the point if cuBLASLt has no algorithm; throws
// CublasLtError if it refuses to launch any.
const Candidate& best_product(CudaBench& bench, const GemmFormat& format);

// The algorithm for a given shape: the heuristic's first, which frameworks take, unless another is
// clearly faster from rest. Skips and throws like best_product().
GemmAlgorithm heuristic_algorithm(CudaBench& bench, const GemmFormat& format,
                                  const GemmShape& shape);

// The heuristic's algorithms that a search tries per shape.
inline constexpr int kSearchedAlgorithms = 3;

}  // namespace peakline::bench

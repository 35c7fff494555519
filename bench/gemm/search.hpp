#pragma once

// Finds the product to measure a format with: shape, layout and algorithm. The candidates are the
// same in every run, quick or full, and so is the choice among those that are equally fast.

#include <cstdint>
#include <vector>

#include "bench/gemm/product.hpp"

namespace peakline::bench {

struct Candidate {
  GemmShape shape;
  Layout layout = Layout::kTN;
  GemmAlgorithm algorithm;
};

// M and N of products whose tiles, of 128 x 256 elements, fill `sms` SMs a whole number of times,
// or as nearly as possible. An even number of tiles in M, as kernels run in clusters of two.
struct Sides {
  std::int64_t m = 0, n = 0;
  bool operator==(const Sides&) const = default;
};
std::vector<Sides> full_wave_sides(std::int64_t sms);

// The candidate's product, with its own operands.
Product product_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
                   kernels::Distribution distribution = kernels::Distribution::kNormal);

// The fastest product of a format, from rest; the power that it draws makes it the fastest under
// load as well. Searched for once per worker; notes the number of candidates. Skips the point if
// cuBLASLt has no algorithm, and throws CublasLtError if it refuses to launch any.
const Candidate& best_product(CudaBench& bench, const GemmFormat& format);

// The algorithm for a product whose shape is given: the heuristic's first choice, as frameworks
// take it, unless another one is clearly faster from rest. Skips and throws likewise.
GemmAlgorithm heuristic_algorithm(CudaBench& bench, const GemmFormat& format,
                                  const GemmShape& shape);

// How many of the heuristic's algorithms a search tries per shape.
inline constexpr int kSearchedAlgorithms = 3;

}  // namespace peakline::bench

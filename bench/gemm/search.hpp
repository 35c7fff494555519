#pragma once

// Finds the products to measure a format with: shape, layout and algorithm.

#include <vector>

#include "bench/gemm/product.hpp"

namespace peakline::bench {

struct Candidate {
  GemmShape shape;
  Layout layout = Layout::kTN;
  GemmAlgorithm algorithm;
};

// The candidate's product, with its own operands.
Product product_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
                   kernels::Distribution distribution = kernels::Distribution::kNormal);

// Each searches once per worker and notes the number of candidates. They skip the point if cuBLASLt
// has no algorithm, and throw CublasLtError if it refuses to launch any.
const Candidate& best_from_rest(CudaBench& bench, const GemmFormat& format);
const Candidate& best_under_load(CudaBench& bench, const GemmFormat& format);
// With `clear` ahead of every launch. Short products win with cold caches: the units rest while the
// caches are cleared, which is a larger share of the time for them.
Candidate best_interleaved(CudaBench& bench, const GemmFormat& format,
                           const CudaBench::Launch& clear);

// How many of the heuristic's algorithms a search tries per shape.
inline constexpr int kSearchedAlgorithms = 4;

}  // namespace peakline::bench

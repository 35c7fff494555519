#pragma once

// The products that a format's figures are measured with: shape, layout and algorithm.

#include <vector>

#include "bench/gemm/product.hpp"

namespace peakline::bench {

struct Candidate {
  GemmShape shape;
  Layout layout = Layout::kTN;
  GemmAlgorithm algorithm;
};

// The candidate's product, with operands of its own.
Product product_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
                   kernels::Distribution distribution = kernels::Distribution::kNormal);

// Each searches once per worker, and notes the number of candidates. They skip the point where
// cuBLASLt has no algorithm, and throw CublasLtError where it refuses to launch any.
const Candidate& best_from_rest(CudaBench& bench, const GemmFormat& format);
const Candidate& best_under_load(CudaBench& bench, const GemmFormat& format);
// With `clear` ahead of every launch. With cold caches it is the short products that win: while the
// caches are cleared, the units rest, and the more so the shorter the product.
Candidate best_interleaved(CudaBench& bench, const GemmFormat& format,
                           const CudaBench::Launch& clear);

// Of the heuristic's algorithms for a shape, how many a search tries.
inline constexpr int kSearchedAlgorithms = 4;

}  // namespace peakline::bench

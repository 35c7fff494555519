#include "bench/gemm/search.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "harness/cuda/device.hpp"

namespace peakline::bench {
namespace {

using kernels::Distribution;

// Counting cycles rules out the shapes and algorithms that leave the units idle. Among the rest,
// the power a product draws decides the clock, so they are tried the way they will be measured: in
// trains from rest, short ones first, or under a load long enough for power control to react.

constexpr std::array<std::int64_t, 5> kSides = {1024, 2048, 4096, 8192, 16384};
constexpr std::array<std::int64_t, 3> kSidesQuick = {2048, 4096, 8192};
// A train from rest is 5 launches in at most 15 ms, so a product must not take longer than this.
constexpr double kLongestSeconds = 3e-3;
// In shorter products, the start and end of a launch show.
constexpr double kShortestSeconds = 6e-5;
constexpr GemmShape kProbeShape{.m = 2048, .n = 2048, .k = 2048};
// Refined sides are multiples of this, as tiles are.
constexpr std::int64_t kSideStep = 128;

// How many candidates each step keeps, and the time for the steps that rank by cycles.
struct Breadth {
  double grid_s, algorithms_s;
  std::size_t shapes;     // from the grid, tried in trains
  std::size_t refined;    // of those, varied in sides, layouts and algorithms
  std::size_t tried;      // of the variants, tried in trains
  std::size_t finalists;  // tried in trains of full length
};
constexpr Breadth kFull{
    .grid_s = 0.2, .algorithms_s = 0.2, .shapes = 8, .refined = 2, .tried = 12, .finalists = 3};
constexpr Breadth kQuick{
    .grid_s = 0.1, .algorithms_s = 0.1, .shapes = 4, .refined = 1, .tried = 6, .finalists = 2};
constexpr int kVariantAlgorithms = 8;
constexpr Trains kFinalTrains{.count = 2, .rest_s = 0.02};
constexpr std::size_t kFinalistsLoaded = 2;
constexpr double kFinalLoadSeconds = 0.12;
// Products this short may win with cold caches.
constexpr double kShortSeconds = 2.5e-4;
constexpr std::size_t kShortShapes = 6;

struct Searched {
  std::vector<Candidate> finalists;   // best first
  std::vector<Candidate> short_ones;  // the best short products of the coarse grid
  std::size_t tried = 0;
};

std::vector<Candidate> first_of(std::vector<Candidate> ranked, std::size_t most) {
  ranked.resize(std::min(ranked.size(), most));
  return ranked;
}

// Candidates that share memory for their operands.
class CandidateSet {
 public:
  // Seconds of one launch.
  using Seconds = std::function<double(CudaBench&, const CudaBench::Launch&)>;

  CandidateSet(CudaBench& bench, const GemmFormat& format) : bench_(bench), format_(format) {}

  void add(const GemmShape& shape, Layout layout, const GemmAlgorithm& algorithm) {
    candidates_.push_back({shape, layout, algorithm});
  }
  // With the heuristic's first `count` algorithms.
  void add(const GemmShape& shape, Layout layout, int count) {
    const Gemm gemm(*cublaslt(bench_), format_.types, shape, layout);
    for (const GemmAlgorithm& algorithm : gemm.algorithms(count)) add(shape, layout, algorithm);
  }
  std::size_t size() const { return candidates_.size(); }

  // The best `most` candidates by cycles per FLOP, best first.
  std::vector<Candidate> best_by_cycles(double seconds, std::size_t most) {
    make_products();
    std::vector<Candidate> ranked;
    for (const std::size_t i :
         bench_.rank(candidates_.size(), [&](std::size_t c) { return launch(c); }, seconds,
                     {.work_of = [&](std::size_t c) { return candidates_[c].shape.flops(); },
                     .in_cycles = true}))
      if (ranked.size() < most) ranked.push_back(candidates_[i]);
    return ranked;
  }

  // The best `most` candidates by seconds(bench, launch) per FLOP, best first; without those that
  // cuBLASLt refuses to launch. Throws CublasLtError if it refuses all.
  std::vector<Candidate> best_by(const Seconds& seconds, std::size_t most) {
    make_products();
    std::vector<std::pair<double, std::size_t>> costs;
    std::exception_ptr refused;
    for (std::size_t c = 0; c < bench_.sampler().repeats(candidates_.size()); ++c) {
      try {
        costs.emplace_back(seconds(bench_, launch(c)) / candidates_[c].shape.flops(), c);
      } catch (const CublasLtError&) {
        refused = std::current_exception();
      }
    }
    if (costs.empty()) std::rethrow_exception(refused);
    std::ranges::sort(costs);
    std::vector<Candidate> best;
    for (const auto& [cost, c] : costs)
      if (best.size() < most) best.push_back(candidates_[c]);
    return best;
  }

  Candidate best(const Seconds& seconds) { return best_by(seconds, 1).front(); }

  // Drops candidates whose result is wrong.
  void verify() {
    make_products();
    std::vector<Candidate> right;
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (products_[c]->find_mismatch(bench_, candidates_[c].algorithm).empty())
        right.push_back(candidates_[c]);
    candidates_ = std::move(right);
  }
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  void make_products() {
    if (candidates_.empty())
      throw Skipped(std::string("cuBLASLt has no algorithm for ") + format_.name +
                    " on this device");
    GemmOperands::Counts counts;
    for (const Candidate& candidate : candidates_) counts.include(candidate.shape);
    const auto operands =
        std::make_shared<const GemmOperands>(format_.types, counts, bench_.seed());
    products_.clear();
    for (const Candidate& candidate : candidates_)
      products_.push_back(
          std::make_unique<Product>(bench_, format_, candidate.shape, operands, candidate.layout));
  }
  CudaBench::Launch launch(std::size_t c) const {
    return products_[c]->launch(candidates_[c].algorithm);
  }

  CudaBench& bench_;
  const GemmFormat& format_;
  std::vector<Candidate> candidates_;
  std::vector<std::unique_ptr<Product>> products_;
};

bool fits(const GemmFormat& format, const GemmShape& shape) {
  GemmOperands::Counts counts;
  counts.include(shape);
  // A quarter, since shapes that share the memory need the largest X, W and Y of any of them.
  return counts.bytes(format.types) < cuda::free_memory_bytes() / 4;
}

// The shapes whose product, at the rate of a probe product, is neither too short nor too long.
std::vector<GemmShape> grid(CudaBench& bench, const GemmFormat& format) {
  const Product probe(bench, format, kProbeShape);
  const std::vector<GemmAlgorithm> algorithms = probe.gemm().algorithms(1);
  if (algorithms.empty())
    throw Skipped(std::string("cuBLASLt has no algorithm for ") + format.name + " on this device");
  const double rate = kProbeShape.flops() / bench.time_roughly(probe.launch(algorithms.front()));
  const std::span<const std::int64_t> sides =
      bench.options().quick ? std::span<const std::int64_t>(kSidesQuick) : kSides;
  std::vector<GemmShape> shapes;
  std::optional<GemmShape> smallest;
  for (const std::int64_t m : sides)
    for (const std::int64_t n : sides)
      for (const std::int64_t k : sides) {
        const GemmShape shape{.m = m, .n = n, .k = k};
        if (!fits(format, shape)) continue;
        if (!smallest || shape.flops() < smallest->flops()) smallest = shape;
        const double seconds = shape.flops() / rate;
        if (seconds >= kShortestSeconds && seconds <= kLongestSeconds) shapes.push_back(shape);
      }
  if (!smallest) throw Skipped("not enough free device memory for matrix products");
  // The units are so slow that even the smallest product is too long: their trains are longer than
  // usual.
  if (shapes.empty()) shapes.push_back(*smallest);
  return shapes;
}

// Each side, one at a time, 1.5 times as long or a quarter shorter.
std::vector<GemmShape> around(const GemmShape& shape) {
  std::vector<GemmShape> shapes;
  for (std::int64_t GemmShape::*side : {&GemmShape::m, &GemmShape::n, &GemmShape::k})
    for (const double factor : {0.75, 1.5}) {
      GemmShape changed = shape;
      changed.*side = static_cast<std::int64_t>(static_cast<double>(shape.*side) * factor) /
                      kSideStep * kSideStep;
      shapes.push_back(changed);
    }
  return shapes;
}

double rate_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate) {
  const Product product = product_of(bench, format, candidate);
  return candidate.shape.flops() / bench.time_roughly(product.launch(candidate.algorithm));
}

CandidateSet set_of(CudaBench& bench, const GemmFormat& format,
                    const std::vector<Candidate>& candidates) {
  CandidateSet set(bench, format);
  for (const Candidate& candidate : candidates)
    set.add(candidate.shape, candidate.layout, candidate.algorithm);
  return set;
}

double in_short_train(CudaBench& bench, const CudaBench::Launch& launch) {
  return short_train_launch_s(bench.sampler(), launch);
}

// The best candidates with other layouts, algorithms and sides. longest_flops: limit for one
// product.
std::vector<Candidate> refine(CudaBench& bench, const GemmFormat& format, const Breadth& breadth,
                              const std::vector<Candidate>& best, double longest_flops,
                              std::size_t& tried) {
  const bool quick = bench.options().quick;
  CandidateSet refined = set_of(bench, format, best);
  for (const Candidate& candidate : best) {
    for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
      if (layout == Layout::kTN || !quick)
        refined.add(candidate.shape, layout, kSearchedAlgorithms);
    for (const GemmShape& shape : around(candidate.shape))
      if (!quick && fits(format, shape) && shape.flops() <= longest_flops)
        refined.add(shape, Layout::kTN, 1);
  }
  tried += refined.size();
  return set_of(bench, format, refined.best_by_cycles(breadth.algorithms_s, breadth.tried))
      .best_by(in_short_train, breadth.finalists);
}

// The best candidates, with variants of the first one's algorithm added.
std::vector<Candidate> add_neighbours(CudaBench& bench, const GemmFormat& format,
                                      const Breadth& breadth, const std::vector<Candidate>& best,
                                      std::size_t& tried) {
  CandidateSet neighbours = set_of(bench, format, best);
  const Candidate& first = best.front();
  const Gemm gemm(*cublaslt(bench), format.types, first.shape, first.layout);
  for (const GemmAlgorithm& algorithm : gemm.neighbours(first.algorithm))
    neighbours.add(first.shape, first.layout, algorithm);
  tried += neighbours.size() - best.size();
  const std::vector<Candidate> found = neighbours.best_by(in_short_train, breadth.finalists);
  if (!bench.options().verify) return found;
  // The library does not guarantee settings that its heuristic did not return.
  CandidateSet finalists = set_of(bench, format, found);
  finalists.verify();
  return finalists.size() > 0 ? finalists.candidates() : best;
}

Searched search_all(CudaBench& bench, const GemmFormat& format) {
  const bool quick = bench.options().quick;
  const Breadth& breadth = quick ? kQuick : kFull;
  CandidateSet coarse(bench, format);
  for (const GemmShape& shape : grid(bench, format)) coarse.add(shape, Layout::kTN, 1);
  const std::vector<Candidate> by_cycles = coarse.best_by_cycles(breadth.grid_s, coarse.size());
  const double rate = rate_of(bench, format, by_cycles.front());

  Searched found;
  found.tried = coarse.size();
  for (const Candidate& candidate : by_cycles)
    if (found.short_ones.size() < kShortShapes && candidate.shape.flops() <= kShortSeconds * rate)
      found.short_ones.push_back(candidate);
  std::vector<Candidate> best = set_of(bench, format, first_of(by_cycles, breadth.shapes))
                                    .best_by(in_short_train, breadth.refined);
  best = refine(bench, format, breadth, best, kLongestSeconds * rate, found.tried);
  if (!quick) best = add_neighbours(bench, format, breadth, best, found.tried);
  found.finalists = std::move(best);
  return found;
}

// For a variant of a format that was searched already: the same shapes, with its own algorithms.
Searched search_like(CudaBench& bench, const GemmFormat& format, const Searched& searched) {
  CandidateSet set(bench, format);
  for (const Candidate& candidate : searched.finalists)
    set.add(candidate.shape, Layout::kTN, kVariantAlgorithms);
  Searched found;
  found.tried = set.size();
  found.finalists = set.best_by(in_short_train, kFull.finalists);
  return found;
}

const Searched& searched(CudaBench& bench, const GemmFormat& format) {
  return bench.remember<Searched>(std::string("gemm.") + format.name, [&] {
    const bool variant = std::string_view(format.name).starts_with("fp8_");
    Searched found = variant ? search_like(bench, format, searched(bench, gemm_format("fp8")))
                             : search_all(bench, format);
    bench.note("candidates", static_cast<std::int64_t>(found.tried));
    return found;
  });
}

}  // namespace

Product product_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
                   Distribution distribution) {
  GemmOperands::Counts counts;
  counts.include(candidate.shape);
  return {bench, format, candidate.shape,
          std::make_shared<const GemmOperands>(format.types, counts, bench.seed(), distribution),
          candidate.layout};
}

const Candidate& best_from_rest(CudaBench& bench, const GemmFormat& format) {
  return bench.remember<Candidate>(std::string("burst.") + format.name, [&] {
    return set_of(bench, format, searched(bench, format).finalists)
        .best([](CudaBench& on, const CudaBench::Launch& launch) {
          return burst_launch_s(on.sampler(), launch, kFinalTrains);
        });
  });
}

const Candidate& best_under_load(CudaBench& bench, const GemmFormat& format) {
  return bench.remember<Candidate>(std::string("sustained.") + format.name, [&] {
    return set_of(bench, format, first_of(searched(bench, format).finalists, kFinalistsLoaded))
        .best([](CudaBench& on, const CudaBench::Launch& launch) {
          return loaded_launch_s(on.loads(), on.sampler(), launch, kFinalLoadSeconds);
        });
  });
}

Candidate best_interleaved(CudaBench& bench, const GemmFormat& format,
                           const CudaBench::Launch& clear) {
  std::vector<Candidate> candidates = searched(bench, format).short_ones;
  if (candidates.empty()) candidates.push_back(best_from_rest(bench, format));
  return set_of(bench, format, candidates)
      .best([&](CudaBench& on, const CudaBench::Launch& launch) {
        return interleaved_launch_s(on.sampler(), launch, clear);
      });
}

}  // namespace peakline::bench

#include "bench/gemm/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "harness/statistics/search.hpp"

namespace peakline::bench {
namespace {

using kernels::Distribution;

// Drawn power decides the clock, so candidates are tried as they are measured: in trains from rest.

// Tile of Hopper's fastest kernels; on other devices a multiple of theirs.
constexpr std::int64_t kTileM = 128, kTileN = 256;
// One wave is too short a product; more than four take longer and gain nothing.
constexpr std::array<std::int64_t, 2> kWaves = {2, 4};
constexpr std::size_t kSidesPerWaves = 4;
// More oblong products read their operands more often than necessary.
constexpr double kMostOblong = 4;
// Squares for devices whose kernels have other tiles.
constexpr std::array<std::int64_t, 2> kSquares = {4096, 8192};
// Longer products hide their start and end better.
constexpr std::array<std::int64_t, 6> kDepths = {24576, 16384, 8192, 4096, 2048, 1024};
// A train from rest is 5 launches in at most 15 ms.
constexpr double kLongestSeconds = 3e-3;
constexpr std::int64_t kProbeDepth = 4096;

// Candidates whose layouts are varied: sides and layout interact (on an H200, FP32 gains 6 % from
// the right pair and nothing from either alone). Settings of the best one are varied as well.
constexpr std::size_t kRefined = 4;
constexpr std::size_t kFinalists = 3;  // tried in trains of full length
constexpr Trains kFinalTrains{.count = 2, .rest_s = 0.02};
// Products with times closer than this are equal: the first in the list wins.
constexpr double kEqualWithin = 0.002;
// Gain required of an algorithm that the heuristic ranks lower. With 1 %, choices changed from run
// to run, between algorithms that are equal from rest and differ by 4 % under load.
constexpr double kClearlyFaster = 0.05;

double in_short_train(CudaBench& bench, const CudaBench::Launch& launch) {
  return short_train_launch_s(bench.sampler(), launch);
}

double in_full_trains(CudaBench& bench, const CudaBench::Launch& launch) {
  return burst_launch_s(bench.sampler(), launch, kFinalTrains);
}

// Candidates in a fixed order, with shared memory for their operands.
class CandidateSet {
 public:
  using Seconds = std::function<double(CudaBench&, const CudaBench::Launch&)>;

  CandidateSet(CudaBench& bench, const GemmFormat& format) : bench_(bench), format_(format) {}

  void add(const GemmShape& shape, Layout layout, const GemmAlgorithm& algorithm) {
    candidates_.push_back({shape, layout, algorithm});
  }
  void add(const GemmShape& shape, Layout layout, int count) {
    const Gemm gemm(*cublaslt(bench_), format_.types, shape, layout);
    for (const GemmAlgorithm& algorithm : gemm.algorithms(count)) add(shape, layout, algorithm);
  }
  const std::vector<Candidate>& candidates() const { return candidates_; }

  // Keeps the best `most` by seconds per FLOP, in list order; throws as best() does.
  void keep_best(const Seconds& seconds, std::size_t most) {
    const std::vector<double> costs = costs_by(seconds);
    std::vector<double> sorted = costs;
    std::ranges::sort(sorted);
    const double limit = sorted[std::min(most, sorted.size()) - 1];
    std::vector<Candidate> kept;
    for (std::size_t c = 0; c < costs.size(); ++c)
      if (std::isfinite(costs[c]) && costs[c] <= limit) kept.push_back(candidates_[c]);
    candidates_ = std::move(kept);
  }

  // The first within `tolerance` of the lowest cost; CublasLtError if cuBLASLt refuses all.
  const Candidate& best(const Seconds& seconds, double tolerance) {
    return candidates_[first_within(costs_by(seconds), tolerance)];
  }

  // Drops candidates with wrong results, unless none is left: preparing the winner then reports it.
  void verify() {
    make_products();
    std::vector<Candidate> right;
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (products_[c]->find_mismatch(bench_, candidates_[c].algorithm).empty())
        right.push_back(candidates_[c]);
    if (!right.empty()) candidates_ = std::move(right);
  }

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

  // Seconds per FLOP; infinity for candidates that cuBLASLt refuses.
  std::vector<double> costs_by(const Seconds& seconds) {
    make_products();
    std::vector<double> costs(candidates_.size(), INFINITY);
    std::exception_ptr refused;
    bool any = false;
    for (std::size_t c = 0; c < bench_.sampler().repeats(candidates_.size()); ++c) {
      const auto& [shape, layout, algorithm] = candidates_[c];
      try {
        costs[c] = seconds(bench_, products_[c]->launch(algorithm)) / shape.flops();
        any = true;
      } catch (const CublasLtError&) {
        refused = std::current_exception();
      }
    }
    if (!any) std::rethrow_exception(refused);
    return costs;
  }

  CudaBench& bench_;
  const GemmFormat& format_;
  std::vector<Candidate> candidates_;
  std::vector<std::unique_ptr<Product>> products_;
};

bool fits(const GemmFormat& format, const GemmShape& shape) {
  GemmOperands::Counts counts;
  counts.include(shape);
  // A quarter: shapes share memory sized for the largest X, W and Y of any of them.
  return counts.bytes(format.types) < cuda::free_memory_bytes() / 4;
}

// FLOP/s of a product that fills the SMs; skips the point if there is none.
double probed_rate(CudaBench& bench, const GemmFormat& format, const Sides& sides) {
  const GemmShape shape{.m = sides.m, .n = sides.n, .k = kProbeDepth};
  const Product product(bench, format, shape);
  const std::vector<GemmAlgorithm> algorithms = product.gemm().algorithms(1);
  if (algorithms.empty())
    throw Skipped(std::string("cuBLASLt has no algorithm for ") + format.name + " on this device");
  return shape.flops() / bench.time_roughly(product.launch(algorithms.front()));
}

// The longest that a train from rest and device memory allow; or the shape of another format, if
// the device has that.
std::vector<GemmShape> shapes(CudaBench& bench, const GemmFormat& format) {
  if (format.shape_of != nullptr) {
    try {
      return {best_product(bench, gemm_format(format.shape_of)).shape};
    } catch (const Skipped&) {
    }
  }
  std::vector<Sides> all = full_wave_sides(bench.sm_count());
  for (const std::int64_t side : kSquares) all.push_back({side, side});
  const double most_flops = kLongestSeconds * probed_rate(bench, format, all.front());
  std::vector<GemmShape> found;
  for (const auto& [m, n] : all)
    for (const std::int64_t k : kDepths) {
      const GemmShape shape{.m = m, .n = n, .k = k};
      if (shape.flops() > most_flops || !fits(format, shape)) continue;
      found.push_back(shape);
      break;
    }
  // On a slow unit, trains may take longer.
  const GemmShape smallest{.m = all.front().m, .n = all.front().n, .k = kDepths.back()};
  if (found.empty() && fits(format, smallest)) found.push_back(smallest);
  if (found.empty()) throw Skipped("not enough free device memory for matrix products");
  return found;
}

// Adds the candidates in other layouts, and variants of the best one's algorithm.
void add_variants(CudaBench& bench, const GemmFormat& format, CandidateSet& set) {
  const std::vector<Candidate> originals = set.candidates();
  const auto [shape, layout, algorithm] = set.best(in_short_train, 0);
  std::vector<GemmShape> varied;
  for (const Candidate& candidate : originals) {
    if (std::ranges::find(varied, candidate.shape) != varied.end()) continue;
    varied.push_back(candidate.shape);
    for (const Layout other : {Layout::kNN, Layout::kNT, Layout::kTT})
      set.add(candidate.shape, other, 1);
  }
  const Gemm gemm(*cublaslt(bench), format.types, shape, layout);
  for (const GemmAlgorithm& neighbour : gemm.neighbours(algorithm))
    set.add(shape, layout, neighbour);
}

Candidate search_product(CudaBench& bench, const GemmFormat& format) {
  CandidateSet set(bench, format);
  for (const GemmShape& shape : shapes(bench, format))
    set.add(shape, Layout::kTN, kSearchedAlgorithms);
  std::size_t tried = set.candidates().size();
  set.keep_best(in_short_train, kRefined);
  tried -= set.candidates().size();
  add_variants(bench, format, set);
  tried += set.candidates().size();
  set.keep_best(in_short_train, kFinalists);
  // cuBLASLt does not guarantee settings that its heuristic did not return.
  if (bench.options().verify) set.verify();
  bench.note("candidates", static_cast<std::int64_t>(tried));
  return set.best(in_full_trains, kEqualWithin);
}

}  // namespace

std::vector<Sides> full_wave_sides(std::int64_t sms) {
  struct Filling {
    double idle = 0, oblong = 0;  // share of the SMs; ratio of the sides
    Sides sides;
  };
  std::vector<Sides> found;
  for (const std::int64_t waves : kWaves) {
    const std::int64_t slots = waves * sms;
    std::vector<Filling> fillings;
    for (std::int64_t tiles_m = 2; tiles_m <= slots; tiles_m += 2) {
      const std::int64_t tiles_n = slots / tiles_m;
      const Sides sides{tiles_m * kTileM, tiles_n * kTileN};
      const double oblong = static_cast<double>(std::max(sides.m, sides.n)) /
                            static_cast<double>(std::min(sides.m, sides.n));
      if (oblong > kMostOblong) continue;
      const double filled = static_cast<double>(tiles_m * tiles_n) / static_cast<double>(slots);
      fillings.push_back({1 - filled, oblong, sides});
    }
    std::ranges::stable_sort(fillings, [](const Filling& a, const Filling& b) {
      return std::pair(a.idle, a.oblong) < std::pair(b.idle, b.oblong);
    });
    for (std::size_t i = 0; i < std::min(kSidesPerWaves, fillings.size()); ++i)
      found.push_back(fillings[i].sides);
  }
  return found;
}

Product product_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
                   Distribution distribution) {
  GemmOperands::Counts counts;
  counts.include(candidate.shape);
  return {bench, format, candidate.shape,
          std::make_shared<const GemmOperands>(format.types, counts, bench.seed(), distribution),
          candidate.layout};
}

const Candidate& best_product(CudaBench& bench, const GemmFormat& format) {
  return bench.remember<Candidate>(std::string("gemm.") + format.name,
                                   [&] { return search_product(bench, format); });
}

GemmAlgorithm heuristic_algorithm(CudaBench& bench, const GemmFormat& format,
                                  const GemmShape& shape) {
  CandidateSet set(bench, format);
  set.add(shape, Layout::kTN, kSearchedAlgorithms);
  return set.best(in_short_train, kClearlyFaster).algorithm;
}

}  // namespace peakline::bench

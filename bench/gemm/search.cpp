// What do matrix products reach? cuBLASLt over shapes, layouts and algorithms; the best from rest,
// under lasting load, with cold caches, and on data that toggle fewer bits.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalog.hpp"
#include "bench/gemm/curves.hpp"
#include "bench/gemm/gemm.hpp"
#include "bench/gemm/product.hpp"
#include "harness/cuda/device.hpp"

namespace peakline::bench {
namespace {

using kernels::Distribution;

// --- The search. Cycles sort out the shapes and algorithms that leave the units waiting; among
// those that do not, the power that a product takes decides on the clock, so the others are tried
// as they will be measured: in trains from rest, short ones at first, or under a load that power
// control has time to react to.

constexpr std::array<std::int64_t, 5> kSides = {1024, 2048, 4096, 8192, 16384};
constexpr std::array<std::int64_t, 3> kSidesQuick = {2048, 4096, 8192};
// A train from rest is 5 launches in at most 15 ms, so only products this short can be in one.
constexpr double kLongestSeconds = 3e-3;
// Starting and ending a launch shows in shorter ones.
constexpr double kShortestSeconds = 6e-5;
constexpr GemmShape kProbeShape{.m = 2048, .n = 2048, .k = 2048};
// Refined sides are multiples of this, as tiles are.
constexpr std::int64_t kSideStep = 128;

// How many get from one step to the next, and the time of those that rank by cycles.
struct Breadth {
  double grid_s, algorithms_s;
  std::size_t shapes;     // of the grid, tried in trains
  std::size_t refined;    // of them, with other sides, layouts and algorithms
  std::size_t tried;      // of what comes of that, in trains
  std::size_t finalists;  // tried in trains of full length
  int algorithms;         // of the heuristic, for each shape and layout
};
constexpr Breadth kFull{.grid_s = 0.2,
                        .algorithms_s = 0.2,
                        .shapes = 8,
                        .refined = 2,
                        .tried = 12,
                        .finalists = 3,
                        .algorithms = 4};
constexpr Breadth kQuick{.grid_s = 0.1,
                         .algorithms_s = 0.1,
                         .shapes = 4,
                         .refined = 1,
                         .tried = 6,
                         .finalists = 2,
                         .algorithms = 4};
constexpr int kVariantAlgorithms = 8;
constexpr int kFinalTrains = 2;
constexpr double kFinalRestSeconds = 0.02;
constexpr std::size_t kFinalistsLoaded = 2;
constexpr double kFinalLoadSeconds = 0.12;
// With cold caches it is the short products that win: while the caches are cleared, the units rest,
// and the more so the shorter the product.
constexpr double kShortSeconds = 2.5e-4;
constexpr std::size_t kShortShapes = 6;

// More than any L2, and what other tools clear.
constexpr std::size_t kClearedBytes = std::size_t{256} << 20;

struct Candidate {
  GemmShape shape;
  Layout layout = Layout::kTN;
  GemmAlgorithm algorithm;
};

struct Found {
  std::vector<Candidate> finalists;   // best first
  std::vector<Candidate> short_ones;  // the best of the coarse grid that are soon over
  std::size_t tried = 0;
};

std::vector<Candidate> first_of(std::vector<Candidate> ranked, std::size_t most) {
  ranked.resize(std::min(ranked.size(), most));
  return ranked;
}

// Candidates that share their operands' memory.
class Field {
 public:
  Field(CudaBench& bench, const GemmFormat& format) : bench_(bench), format_(format) {}

  void add(const GemmShape& shape, Layout layout, const GemmAlgorithm& algorithm) {
    candidates_.push_back({shape, layout, algorithm});
  }
  // With the heuristic's first `count` algorithms.
  void add(const GemmShape& shape, Layout layout, int count) {
    const Gemm gemm(*cublaslt(bench_), format_.types, shape, layout);
    for (const GemmAlgorithm& algorithm : gemm.algorithms(count)) add(shape, layout, algorithm);
  }
  std::size_t size() const { return candidates_.size(); }

  // The `most` of them that take the fewest cycles for their work, best first.
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

  // The `most` of them for which seconds(launch) are fewest for their work, best first; without
  // those that cuBLASLt refuses to launch. Under --profile: the first ones.
  std::vector<Candidate> best_by(const std::function<double(const CudaBench::Launch&)>& seconds,
                                 std::size_t most) {
    if (bench_.options().profile) return first_of(candidates_, most);
    make_products();
    std::vector<std::pair<double, std::size_t>> costs;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      try {
        costs.emplace_back(seconds(launch(c)) / candidates_[c].shape.flops(), c);
      } catch (const CublasLtError&) {
        continue;
      }
    }
    std::ranges::sort(costs);
    std::vector<Candidate> best;
    for (const auto& [cost, c] : costs)
      if (best.size() < most) best.push_back(candidates_[c]);
    return best;
  }

  // Drops those whose result is wrong.
  void verify() {
    make_products();
    std::vector<Candidate> right;
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if (products_[c]->what_is_wrong(bench_, candidates_[c].algorithm).empty())
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
  // Several shapes share the memory: the longest side of each.
  return counts.bytes(format.types) < cuda::free_memory_bytes() / 4;
}

// The shapes of which one product lasts neither too short nor too long, at the rate that a first
// one shows.
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
  if (!smallest) throw Skipped("too little device memory is free for matrix products");
  // Units so slow that even this takes long: their trains are longer than others'.
  if (shapes.empty()) shapes.push_back(*smallest);
  return shapes;
}

// Each side a half longer or a quarter shorter.
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

Product product_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
                   Distribution distribution = Distribution::kNormal) {
  GemmOperands::Counts counts;
  counts.include(candidate.shape);
  return {bench, format, candidate.shape,
          std::make_shared<const GemmOperands>(format.types, counts, bench.seed(), distribution),
          candidate.layout};
}

double rate_of(CudaBench& bench, const GemmFormat& format, const Candidate& candidate) {
  const Product product = product_of(bench, format, candidate);
  return candidate.shape.flops() / bench.time_roughly(product.launch(candidate.algorithm));
}

Field field_of(CudaBench& bench, const GemmFormat& format,
               const std::vector<Candidate>& candidates) {
  Field field(bench, format);
  for (const Candidate& candidate : candidates)
    field.add(candidate.shape, candidate.layout, candidate.algorithm);
  return field;
}

Found search_all(CudaBench& bench, const GemmFormat& format) {
  const bool quick = bench.options().quick;
  const Breadth& breadth = quick ? kQuick : kFull;
  Found found;
  const auto in_short_train = [&](const CudaBench::Launch& launch) {
    return bench.time_short_train(launch);
  };

  Field coarse(bench, format);
  for (const GemmShape& shape : grid(bench, format)) coarse.add(shape, Layout::kTN, 1);
  found.tried += coarse.size();
  const std::vector<Candidate> by_cycles = coarse.best_by_cycles(breadth.grid_s, coarse.size());
  const double rate = rate_of(bench, format, by_cycles.front());
  const auto lasts_at_most = [&](double seconds, const GemmShape& shape) {
    return shape.flops() <= seconds * rate;
  };
  for (const Candidate& candidate : by_cycles)
    if (found.short_ones.size() < kShortShapes && lasts_at_most(kShortSeconds, candidate.shape))
      found.short_ones.push_back(candidate);
  std::vector<Candidate> best = first_of(by_cycles, breadth.shapes);
  best = field_of(bench, format, best).best_by(in_short_train, breadth.refined);

  Field refined = field_of(bench, format, best);
  for (const Candidate& candidate : best) {
    for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
      if (layout == Layout::kTN || !quick) refined.add(candidate.shape, layout, breadth.algorithms);
    for (const GemmShape& shape : around(candidate.shape))
      if (!quick && fits(format, shape) && lasts_at_most(kLongestSeconds, shape))
        refined.add(shape, Layout::kTN, 1);
  }
  found.tried += refined.size();
  best = refined.best_by_cycles(breadth.algorithms_s, breadth.tried);
  best = field_of(bench, format, best).best_by(in_short_train, breadth.finalists);

  if (!quick && !bench.options().profile) {
    const std::vector<Candidate> found_before = best;
    Field neighbours = field_of(bench, format, best);
    const Candidate& first = best.front();
    const Gemm gemm(*cublaslt(bench), format.types, first.shape, first.layout);
    for (const GemmAlgorithm& algorithm : gemm.neighbours(first.algorithm))
      neighbours.add(first.shape, first.layout, algorithm);
    found.tried += neighbours.size() - best.size();
    best = neighbours.best_by(in_short_train, breadth.finalists);
    // Settings of our own making: the library has not promised that they work.
    if (bench.options().verify) {
      Field finalists = field_of(bench, format, best);
      finalists.verify();
      best = finalists.candidates();
      if (best.empty()) best = found_before;
    }
  }
  found.finalists = std::move(best);
  return found;
}

// For a format that differs from a searched one in details: its shapes, with algorithms of its own.
Found search_like(CudaBench& bench, const GemmFormat& format, const Found& searched) {
  Field field(bench, format);
  for (const Candidate& candidate : searched.finalists)
    field.add(candidate.shape, Layout::kTN, kVariantAlgorithms);
  Found found;
  found.tried = field.size();
  found.finalists =
      field.best_by([&](const CudaBench::Launch& launch) { return bench.time_short_train(launch); },
                    kFull.finalists);
  return found;
}

const Found& found(CudaBench& bench, const GemmFormat& format) {
  return bench.remember<Found>(std::string("gemm.") + format.name, [&] {
    const std::string_view name = format.name;
    const bool variant = name.starts_with("fp8_");
    return variant ? search_like(bench, format, found(bench, gemm_format("fp8")))
                   : search_all(bench, format);
  });
}

const Candidate& best_from_rest(CudaBench& bench, const GemmFormat& format) {
  return bench.remember<Candidate>(std::string("burst.") + format.name, [&] {
    return field_of(bench, format, found(bench, format).finalists)
        .best_by(
            [&](const CudaBench::Launch& launch) {
              return bench.time_trains(launch, kFinalTrains, kFinalRestSeconds);
            },
            1)
        .front();
  });
}

const Candidate& best_under_load(CudaBench& bench, const GemmFormat& format) {
  return bench.remember<Candidate>(std::string("sustained.") + format.name, [&] {
    return field_of(bench, format, first_of(found(bench, format).finalists, kFinalistsLoaded))
        .best_by(
            [&](const CudaBench::Launch& launch) {
              return bench.time_loaded(launch, kFinalLoadSeconds);
            },
            1)
        .front();
  });
}

// --- The points

void say(CudaBench& bench, const GemmFormat& format, const Candidate& candidate) {
  bench.chose("shape", candidate.shape.name());
  bench.chose("layout", std::string(to_string(candidate.layout)));
  bench.chose("candidates", static_cast<std::int64_t>(found(bench, format).tried));
}

void measure(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
             Distribution distribution = Distribution::kNormal) {
  const Product product = product_of(bench, format, candidate, distribution);
  say(bench, format, candidate);
  product.prepare(bench, candidate.algorithm);
  bench.measure(product.work(), product.launch(candidate.algorithm), kGemmLaunch);
}

void gemm_layout(CudaBench& bench, const GemmFormat& format, const std::string& name) {
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTN, Layout::kTT}) {
    if (name != to_string(layout)) continue;
    Candidate candidate = best_from_rest(bench, format);
    candidate.layout = layout;
    const Product product = product_of(bench, format, candidate);
    constexpr double kSeconds = 0.04;
    candidate.algorithm = product.best_algorithm(bench, kFull.algorithms, kSeconds);
    bench.chose("shape", candidate.shape.name());
    product.prepare(bench, candidate.algorithm);
    return bench.measure(product.work(), product.launch(candidate.algorithm), kGemmLaunch);
  }
  throw std::logic_error("no such layout: " + name);
}

// Each product finds the caches full of other data, and the units have rested for as long as that
// took: the pattern of mamf-finder, and of training, where other work goes on between products.
void gemm_cleared(CudaBench& bench, const GemmFormat& format) {
  const cuda::DeviceBuffer<std::byte> other(bench.fit_memory(kClearedBytes, kClearedBytes));
  const CudaBench::Launch clear = [&](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemsetAsync(other.data(), 0, other.size(), stream));
  };
  const auto seconds = [&](const CudaBench::Launch& launch) {
    return bench.time_apart(launch, clear);
  };
  std::vector<Candidate> candidates = found(bench, format).short_ones;
  if (candidates.empty()) candidates.push_back(best_from_rest(bench, format));
  const Candidate best = field_of(bench, format, candidates).best_by(seconds, 1).front();
  const Product product = product_of(bench, format, best);
  say(bench, format, best);
  product.prepare(bench, best.algorithm);
  bench.measure_apart(product.work(), product.launch(best.algorithm), clear);
}

constexpr std::array<std::pair<const char*, Distribution>, 6> kData{
    {{"normal", Distribution::kNormal},
     {"uniform", Distribution::kUniform},
     {"constant", Distribution::kConstant},
     {"zeros", Distribution::kZeros},
     {"low_bits_cleared", Distribution::kLowBitsCleared},
     {"half_zeros", Distribution::kHalfZeros}}};

Distribution distribution_of(const std::string& name) {
  for (const auto& [known, distribution] : kData)
    if (name == known) return distribution;
  throw std::logic_error("no such data: " + name);
}

void gemm(CudaBench& bench, const GemmFormat& format) {
  if (const auto layout = bench.find_text("layout")) return gemm_layout(bench, format, *layout);
  if (bench.find_text("l2")) return gemm_cleared(bench, format);
  if (const auto data = bench.find_text("data"))
    return measure(bench, format, best_under_load(bench, format), distribution_of(*data));
  measure(bench, format,
          bench.rule() == Rule::kBurst || bench.rule() == Rule::kBrief
              ? best_from_rest(bench, format)
              : best_under_load(bench, format));
}

struct Parts {
  bool variant = false;  // of another format: from rest only, and briefly
  bool quick = false;
  bool cleared = false;
  bool data = false;
  double soak_s = 0;
};

std::vector<Point> gemm_points(const Parts& parts) {
  std::vector<Point> points;
  const auto add = [&](const char* name, const char* value, Phase phase, Rule rule,
                       double seconds) {
    points.push_back({.params = {{name, std::string(value)}},
                      .phase = phase,
                      .rule = rule,
                      .quick = false,
                      .seconds = seconds});
  };
  if (parts.variant) {
    add("load", "burst", Phase::kBurst, Rule::kBrief, 1.2);
    return points;
  }
  for (Point& point : load_points()) {
    point.quick = point.quick && parts.quick;
    // With its share of the search.
    point.seconds += 2;
    points.push_back(std::move(point));
  }
  for (const char* layout : {"NN", "NT", "TN", "TT"})
    add("layout", layout, Phase::kWarm, Rule::kCurve, 0.1);
  if (parts.cleared) add("l2", "cleared", Phase::kWarm, Rule::kBrief, 1.2);
  if (parts.data)
    for (const auto& [name, distribution] : kData)
      add("data", name, Phase::kSustained, Rule::kLoaded, 0.8);
  if (parts.soak_s > 0) {
    add("load", "soak", Phase::kSoak, Rule::kSoak, parts.soak_s + 1);
    points.back().quick = true;
  }
  return points;
}

}  // namespace

void register_gemm(Registry& registry, double soak_s) {
  const auto add = [&](const char* name, const Parts& parts) {
    const GemmFormat& format = gemm_format(name);
    registry.add({.id = std::string("gemm.") + name,
                  .what = format.what,
                  .work = format.whole_numbers ? "2 x M x N x K operations a product"
                                               : "2 x M x N x K FLOP a product",
                  .quantity = quantity_of(format),
                  .method_version = 2,
                  .loads = Loads::kCores,
                  .limit = limit_of(format),
                  .ceilings = parts.variant ? std::vector<CeilingRule>() : load_ceilings_of(format),
                  .curves = {operand_data_curve(name), cleared_cache_curve(name), soak_curve()},
                  .points = gemm_points(parts)},
                 [&format](CudaBench& bench) { gemm(bench, format); });
  };
  add("bf16", {.quick = true, .cleared = true, .data = true, .soak_s = soak_s});
  add("fp16", {.quick = true, .cleared = true});
  add("tf32", {.quick = true, .cleared = true});
  add("fp8", {.quick = true, .cleared = true, .data = true});
  add("fp8_e5m2", {.variant = true});
  add("fp8_accurate", {.variant = true});
  add("int8", {});
  add("fp64", {});
  add("fp32", {});
}

}  // namespace peakline::bench

// What keeps a matrix product from its ceiling? Sides that are not multiples of the tile and vector
// sizes, and too few rows to reuse the weights.

#include "bench/gemm/shapes.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "bench/gemm/curves.hpp"

namespace peakline::bench {
namespace {

void measure_shape(CudaBench& bench, const GemmFormat& format, const GemmShape& shape) {
  const Product product(bench, format, shape);
  const GemmAlgorithm algorithm =
      product.best_algorithm(bench, kSweepAlgorithms, kSweepSearchSeconds);
  product.prepare(bench, algorithm);
  bench.measure(product.work(), product.launch(algorithm));
}

// --- Alignment: one side slightly shorter than a power of two, the others unchanged.

constexpr std::int64_t kAlignedSide = 8192;
// Shorter by 1 to 8, then by higher powers of two, so that each power of two is the largest to
// divide one of the sizes.
constexpr std::array<std::int64_t, 13> kShorterBy = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128};
// One-byte formats accept only multiples of 16.
constexpr std::array<std::int64_t, 5> kShorterBy16 = {0, 16, 32, 64, 128};

void alignment(CudaBench& bench, const GemmFormat& format) {
  GemmShape shape{.m = kAlignedSide, .n = kAlignedSide, .k = kAlignedSide};
  const std::string dimension = bench.text("dimension");
  (dimension == "M" ? shape.m : dimension == "N" ? shape.n : shape.k) = bench.integer("size");
  measure_shape(bench, format, shape);
}

std::vector<Point> alignment_points(std::span<const std::int64_t> shorter_by) {
  std::vector<Point> points;
  for (const char* dimension : {"M", "N", "K"})
    for (const std::int64_t by : shorter_by)
      points.push_back(
          warm_point({{"dimension", std::string(dimension)}, {"size", kAlignedSide - by}}));
  return points;
}

// --- The output layer of a language model: GPT-2's vocabulary, as it is and padded to a multiple
// of 128.

constexpr std::array<std::int64_t, 2> kVocabularies = {50257, 50304};
constexpr std::int64_t kVocabularyTokens = 4096, kVocabularyHidden = 4096;

void vocabulary(CudaBench& bench, const GemmFormat& format) {
  measure_shape(bench, format,
                {.m = kVocabularyTokens, .n = bench.integer("n"), .k = kVocabularyHidden});
}

// --- Skinny: few rows, so that reading the weights dominates.

constexpr std::int64_t kSkinnySide = 8192;
constexpr std::int64_t kSkinnyMost = 4096;

void skinny(CudaBench& bench, const GemmFormat& format) {
  measure_with_cold_weights(bench, format,
                            {.m = bench.integer("m"), .n = kSkinnySide, .k = kSkinnySide});
}

std::vector<Point> skinny_points() {
  std::vector<Point> points;
  for (std::int64_t m = 1; m <= kSkinnyMost; m *= 2) points.push_back(warm_point({{"m", m}}));
  return points;
}

// --- Weights that no cache keeps between launches: launches cycle through enough copies.

constexpr double kCachesOfWeights = 4;

std::size_t copies_beyond_cache(CudaBench& bench, const GemmFormat& format,
                                const GemmShape& shape) {
  const double bytes = static_cast<double>(shape.n) * static_cast<double>(shape.k) *
                       static_cast<double>(bytes_of(format.types.w));
  const double l2_bytes = bench.device().l2_bytes.value_or(0x1p26);
  return static_cast<std::size_t>(std::ceil(kCachesOfWeights * l2_bytes / bytes)) + 1;
}

}  // namespace

Point warm_point(Params params) {
  return {.params = std::move(params),
          .phase = Phase::kWarm,
          .rule = Rule::kCurve,
          .quick = false,
          .seconds = 0.06};
}

void add_sweep(Registry& registry, GemmSweep sweep) {
  const GemmFormat& format = gemm_format(sweep.format);
  registry.add({.id = std::string("gemm.") + sweep.area + "." + sweep.format,
                .what = sweep.what,
                .work = "2 x M x N x K FLOP per product",
                .quantity = quantity_of(format),
                .method_version = sweep.method_version,
                .loads = Loads::kCores,
                .varies_with = VariesWith::kSearch,
                .limit = limit_of(format),
                .ceilings = std::move(sweep.ceilings),
                .curves = {std::move(sweep.curve)},
                .points = std::move(sweep.points)},
               [&format, run = sweep.run](CudaBench& bench) { run(bench, format); });
}

void measure_with_cold_weights(CudaBench& bench, const GemmFormat& format, const GemmShape& shape) {
  const std::size_t copies = copies_beyond_cache(bench, format, shape);
  GemmOperands::Counts counts;
  counts.include(shape);
  counts.w *= copies;
  const Product product(bench, format, shape,
                        std::make_shared<const GemmOperands>(format.types, counts, bench.seed()));
  const GemmAlgorithm algorithm =
      product.best_algorithm(bench, kSweepAlgorithms, kSweepSearchSeconds, copies);
  product.prepare(bench, algorithm);
  bench.measure(product.work(), product.launch(algorithm, copies));
}

void register_gemm_shapes(Registry& registry) {
  constexpr const char* kAlignment =
      "Throughput of 8192^3 products with one side slightly shorter: the cost of odd sizes";
  add_sweep(registry, {"alignment", "bf16", kAlignment, alignment, alignment_points(kShorterBy),
                       product_sides_curve("bf16")});
  for (const char* format : {"fp8", "int8"})
    add_sweep(registry, {"alignment", format, kAlignment, alignment, alignment_points(kShorterBy16),
                         product_sides_curve(format)});

  std::vector<Point> vocabularies;
  for (const std::int64_t n : kVocabularies) vocabularies.push_back(warm_point({{"n", n}}));
  add_sweep(
      registry,
      {"vocabulary", "bf16",
       "Throughput of the output layer of a language model, 4096 x N x 4096: the cost of N = 50257",
       vocabulary, std::move(vocabularies), vocabulary_curve("bf16")});

  for (const char* format : {"bf16", "fp8"})
    add_sweep(registry,
              {"skinny", format,
               "Throughput of M x 8192 x 8192 products, weights from device memory: where "
               "decoding turns from memory to compute",
               skinny, skinny_points(), skinny_curve(format)});
}

}  // namespace peakline::bench

// What keeps a matrix product from its ceiling? Sides that are no multiples of what the units take
// at once, last waves that fill few of the multiprocessors, too few rows to reuse the weights; and
// the shapes of a transformer layer, which have a bit of everything.

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalog.hpp"
#include "bench/gemm/curves.hpp"
#include "bench/gemm/product.hpp"

namespace peakline::bench {
namespace {

// The heuristic's first few, in so many seconds: its first is seldom far off, and there are
// hundreds of points.
constexpr int kAlgorithms = 6;
constexpr double kSearchSeconds = 0.012;

constexpr const char* kWork = "2 x M x N x K FLOP a product";

void measure_shape(CudaBench& bench, const GemmFormat& format, const GemmShape& shape) {
  const Product product(bench, format, shape);
  const GemmAlgorithm algorithm = product.best_algorithm(bench, kAlgorithms, kSearchSeconds);
  product.prepare(bench, algorithm);
  bench.measure(product.work(), product.launch(algorithm));
}

Point warm_point(Params params) {
  return {.params = std::move(params),
          .phase = Phase::kWarm,
          .rule = Rule::kCurve,
          .quick = false,
          .seconds = 0.06};
}

// --- Alignment: one side a little shorter than a power of two, the others as they were.

constexpr std::int64_t kAlignedSide = 8192;
// Below it by 1 to 8, then by higher powers of two: each of them divides one of the sizes and is
// the largest that does.
constexpr std::array<std::int64_t, 13> kShorterBy = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128};
// Formats of one byte take multiples of 16 only.
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

// --- The last layer of a language model: GPT-2's vocabulary, as it is and padded to 128.

constexpr std::array<std::int64_t, 2> kVocabularies = {50257, 50304};
constexpr std::int64_t kVocabularyTokens = 4096, kVocabularyHidden = 4096;

void vocabulary(CudaBench& bench, const GemmFormat& format) {
  measure_shape(bench, format,
                {.m = kVocabularyTokens, .n = bench.integer("n"), .k = kVocabularyHidden});
}

// --- Waves: M grows tile by tile, N is so wide that this many rows are one wave of tiles.

constexpr std::int64_t kWaveRows = 1536;
constexpr std::int64_t kWaveStep = 128;
constexpr std::int64_t kWaveK = 4096;
// In steps: dense around one, two and three waves.
constexpr std::array<std::int64_t, 14> kWaveSteps = {4,  8,  11, 12, 13, 16, 20,
                                                     23, 24, 25, 30, 35, 36, 37};

struct WaveKernel {
  GemmAlgorithm algorithm;
  std::int64_t tile_m = 0, tile_n = 0, n = 0;
};

// The fastest kernel where the tiles fill the multiprocessors once, and the N with which they do.
WaveKernel wave_kernel(CudaBench& bench, const GemmFormat& format) {
  // A first guess at the tile decides on the second one's N.
  std::int64_t n = kWaveRows;
  for (int round = 0;; ++round) {
    const Product product(bench, format, {.m = kWaveRows, .n = n, .k = kWaveK});
    const GemmAlgorithm algorithm = product.best_algorithm(bench, kAlgorithms, kSearchSeconds);
    const auto tile = algorithm.tile();
    if (!tile) throw Skipped("cuBLASLt does not say which tile its best kernel has");
    const double columns = static_cast<double>(bench.sm_count()) *
                           static_cast<double>(tile->first) / static_cast<double>(kWaveRows);
    n = std::max<std::int64_t>(1, std::llround(columns)) * tile->second;
    if (round == 1) return {algorithm, tile->first, tile->second, n};
  }
}

void waves(CudaBench& bench, const GemmFormat& format) {
  const WaveKernel& kernel = bench.remember<WaveKernel>(std::string("waves.") + format.name,
                                                        [&] { return wave_kernel(bench, format); });
  const GemmShape shape{.m = bench.integer("m"), .n = kernel.n, .k = kWaveK};
  const Product product(bench, format, shape);
  GemmAlgorithm algorithm = kernel.algorithm;
  if (bench.text("kernel") == "best")
    algorithm = product.best_algorithm(bench, kAlgorithms, kSearchSeconds);
  else if (!product.gemm().takes(algorithm))
    throw Skipped("the kernel of the sweep does not take " + shape.name());
  product.prepare(bench, algorithm);
  const auto parts = [](std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
  };
  const std::int64_t tiles = parts(shape.m, kernel.tile_m) * parts(shape.n, kernel.tile_n);
  bench.note("n", shape.n);
  bench.note("k", shape.k);
  bench.note("tile_m", kernel.tile_m);
  bench.note("tile_n", kernel.tile_n);
  bench.note("tiles", tiles);
  bench.measure(product.work(), product.launch(algorithm));
}

std::vector<Point> wave_points() {
  std::vector<Point> points;
  for (const char* kernel : {"fixed", "best"})
    for (const std::int64_t steps : kWaveSteps)
      points.push_back(warm_point({{"m", steps * kWaveStep}, {"kernel", std::string(kernel)}}));
  return points;
}

// --- Weights that no cache holds from one launch to the next: as many copies in turn as it takes.

constexpr double kCachesOfWeights = 4;

std::size_t copies_beyond_cache(CudaBench& bench, const GemmFormat& format,
                                const GemmShape& shape) {
  const double bytes = static_cast<double>(shape.n) * static_cast<double>(shape.k) *
                       static_cast<double>(bytes_of(format.types.w));
  const double l2_bytes = bench.device().l2_bytes.value_or(0x1p26);
  return static_cast<std::size_t>(std::ceil(kCachesOfWeights * l2_bytes / bytes)) + 1;
}

void measure_with_cold_weights(CudaBench& bench, const GemmFormat& format, const GemmShape& shape) {
  const std::size_t copies = copies_beyond_cache(bench, format, shape);
  GemmOperands::Counts counts;
  counts.include(shape);
  counts.w *= copies;
  const Product product(bench, format, shape,
                        std::make_shared<const GemmOperands>(format.types, counts, bench.seed()));
  const GemmAlgorithm algorithm =
      product.best_algorithm(bench, kAlgorithms, kSearchSeconds, copies);
  product.prepare(bench, algorithm);
  bench.measure(product.work(), product.launch(algorithm, copies));
}

// --- Skinny: so few rows that the weights are read for little work.

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

// --- The products of a transformer layer of one hidden size, for tokens = batch x sequence.

struct LayerPart {
  const char* name;
  std::int64_t n, k;  // in hidden sizes
};
// Queries, keys and values at once; the attention's output; up to four times the size and down.
constexpr std::array<LayerPart, 4> kLayer{
    {{"qkv", 3, 1}, {"output", 1, 1}, {"up", 4, 1}, {"down", 1, 4}}};
constexpr std::array<std::int64_t, 2> kHidden = {4096, 8192};
constexpr std::array<std::int64_t, 6> kTokens = {1, 16, 128, 1024, 4096, 16384};
// At which formats that few train or serve whole models in are looked at.
constexpr std::array<std::int64_t, 1> kTokensShort = {4096};

GemmShape shape_of(const LayerPart& part, std::int64_t hidden, std::int64_t tokens) {
  return {.m = tokens, .n = part.n * hidden, .k = part.k * hidden};
}

void layer(CudaBench& bench, const GemmFormat& format, std::int64_t hidden, std::int64_t tokens) {
  std::vector<std::unique_ptr<Product>> products;
  std::vector<CudaBench::Launch> launches;
  Work work;
  for (const LayerPart& part : kLayer) {
    products.push_back(std::make_unique<Product>(bench, format, shape_of(part, hidden, tokens)));
    const Product& product = *products.back();
    const GemmAlgorithm algorithm = product.best_algorithm(bench, kAlgorithms, kSearchSeconds);
    product.check(bench, algorithm);
    bench.note(part.name, algorithm.describe());
    launches.push_back(product.launch(algorithm));
    const Work of_part = product.work();
    work.bytes_read += of_part.bytes_read;
    work.bytes_written += of_part.bytes_written;
    work.flops += of_part.flops;
  }
  const auto enqueue = [&](cudaStream_t stream) {
    for (const CudaBench::Launch& launch : launches) launch(stream);
  };
  std::int64_t operations = 0;
  for (const CudaBench::Launch& launch : launches) operations += launch.operations;
  bench.measure(work, CudaBench::Launch(enqueue, {.operations = operations}));
}

void model(CudaBench& bench, const GemmFormat& format) {
  const std::int64_t hidden = bench.integer("hidden"), tokens = bench.integer("tokens");
  const std::string name = bench.text("part");
  if (name == "layer") return layer(bench, format, hidden, tokens);
  for (const LayerPart& part : kLayer)
    if (name == part.name)
      return measure_with_cold_weights(bench, format, shape_of(part, hidden, tokens));
  throw std::logic_error("no such part of a layer: " + name);
}

std::vector<Point> model_points(std::span<const std::int64_t> all_tokens, bool parts) {
  std::vector<Point> points;
  for (const std::int64_t hidden : kHidden)
    for (const std::int64_t tokens : all_tokens) {
      const auto add = [&](const char* part) {
        points.push_back(
            warm_point({{"hidden", hidden}, {"tokens", tokens}, {"part", std::string(part)}}));
      };
      if (parts)
        for (const LayerPart& part : kLayer) add(part.name);
      add("layer");
    }
  return points;
}

std::string layer_note(const Measurement& m) {
  return "layer of hidden size " + std::to_string(int_param(m.params, "hidden").value_or(0)) +
         ", " + std::to_string(int_param(m.params, "tokens").value_or(0)) + " tokens";
}

}  // namespace

void register_gemm_shapes(Registry& registry) {
  const auto add = [&](const char* area, const char* name, const char* what,
                       void (*run)(CudaBench&, const GemmFormat&), std::vector<Point> points,
                       CurveRule curve, std::vector<CeilingRule> ceilings = {}) {
    const GemmFormat& format = gemm_format(name);
    registry.add({.id = std::string("gemm.") + area + "." + name,
                  .what = what,
                  .work = kWork,
                  .quantity = quantity_of(format),
                  .loads = Loads::kCores,
                  .limit = limit_of(format),
                  .ceilings = std::move(ceilings),
                  .curves = {std::move(curve)},
                  .points = std::move(points)},
                 [&format, run](CudaBench& bench) { run(bench, format); });
  };
  constexpr const char* kAlignment =
      "products of 8192 x 8192 x 8192 with one side a little shorter: what odd sizes cost";
  add("alignment", "bf16", kAlignment, alignment, alignment_points(kShorterBy),
      product_sides_curve("bf16"));
  add("alignment", "fp8", kAlignment, alignment, alignment_points(kShorterBy16),
      product_sides_curve("fp8"));
  add("alignment", "int8", kAlignment, alignment, alignment_points(kShorterBy16),
      product_sides_curve("int8"));

  std::vector<Point> vocabularies;
  for (const std::int64_t n : kVocabularies) vocabularies.push_back(warm_point({{"n", n}}));
  add("vocabulary", "bf16",
      "the last layer of a language model, 4096 x N x 4096: what a vocabulary of 50257 costs",
      vocabulary, std::move(vocabularies), vocabulary_curve("bf16"));

  add("waves", "bf16",
      "products whose tiles fill the multiprocessors once, twice, three times, or a little more",
      waves, wave_points(), waves_curve());

  constexpr const char* kSkinny =
      "M x 8192 x 8192, weights from device memory: where decoding turns from memory to compute";
  add("skinny", "bf16", kSkinny, skinny, skinny_points(), skinny_curve("bf16"));
  add("skinny", "fp8", kSkinny, skinny, skinny_points(), skinny_curve("fp8"));

  constexpr const char* kModel = "the products of a transformer layer, one by one and in a row";
  const auto add_model = [&](const char* name, std::vector<Point> points) {
    add("model", name, kModel, model, std::move(points), model_layer_curve(name),
        ceilings_of(gemm_format(name), Basis::kModelShaped, where("part", "layer"), layer_note));
  };
  add_model("bf16", model_points(kTokens, true));
  add_model("fp8", model_points(kTokens, false));
  for (const char* name : {"fp16", "tf32", "int8"})
    add_model(name, model_points(kTokensShort, false));
}

}  // namespace peakline::bench

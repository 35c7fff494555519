// What do the matrix products of a transformer layer reach? tokens = batch x sequence.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/gemm/curves.hpp"
#include "bench/gemm/search.hpp"
#include "bench/gemm/shapes.hpp"
#include "harness/conclude/factors.hpp"

namespace peakline::bench {
namespace {

struct LayerPart {
  const char* name;
  std::int64_t n, k;  // in units of the hidden size
};
// Queries, keys and values in one product; the attention output; the MLP up to four times the
// hidden size and down again.
constexpr std::array<LayerPart, 4> kLayer{
    {{"qkv", 3, 1}, {"output", 1, 1}, {"up", 4, 1}, {"down", 1, 4}}};
constexpr std::array<std::int64_t, 2> kHidden = {4096, 8192};
constexpr std::array<std::int64_t, 6> kTokens = {1, 16, 128, 1024, 4096, 16384};
// The layers that are the ceiling, one of each hidden size, get as few as fill the units, so that
// a train of five is over before power control reacts.
constexpr std::int64_t kCeilingTokens = 1024;
// An SM may hold two tiles of up to this many elements.
constexpr std::int64_t kMostElementsOfTwoTiles = 128 * 128;

GemmShape shape_of(const LayerPart& part, std::int64_t hidden, std::int64_t tokens) {
  return {.m = tokens, .n = part.n * hidden, .k = part.k * hidden};
}

// What the SMs could do in the waves that a product's tiles take: 2mnk over the share of SMs that
// they keep busy. nullopt if the tiles are not known, or so small that an SM may hold two.
std::optional<double> flops_of_waves(const GemmAlgorithm& algorithm, const GemmShape& shape,
                                     unsigned sms) {
  const auto tile = algorithm.tile();
  const auto tiles = algorithm.tiles(shape);
  if (!tile || !tiles || tile->first * tile->second <= kMostElementsOfTwoTiles) return std::nullopt;
  return shape.flops() / share_of_waves(*tiles, sms);
}

using AlgorithmOf = std::function<GemmAlgorithm(const Product&)>;

// All products of one layer of each hidden size in a row.
void measure_layers(CudaBench& bench, const GemmFormat& format, std::span<const std::int64_t> sizes,
                    std::int64_t tokens, const AlgorithmOf& algorithm_of) {
  std::vector<std::unique_ptr<Product>> products;
  std::vector<CudaBench::Launch> launches;
  Work work;
  std::optional<double> full_wave_flops = 0;
  for (const std::int64_t hidden : sizes)
    for (const LayerPart& part : kLayer) {
      products.push_back(std::make_unique<Product>(bench, format, shape_of(part, hidden, tokens)));
      const Product& product = *products.back();
      const GemmAlgorithm algorithm = algorithm_of(product);
      product.check(bench, algorithm);
      const std::string of_size = sizes.size() > 1 ? fmt::format("_{}", hidden) : "";
      bench.note(part.name + of_size, algorithm.describe());
      launches.push_back(product.launch(algorithm));
      const Work of_part = product.work();
      work.bytes_read += of_part.bytes_read;
      work.bytes_written += of_part.bytes_written;
      work.flops += of_part.flops;
      const auto full = flops_of_waves(algorithm, product.shape(), bench.sm_count());
      full_wave_flops =
          full && full_wave_flops ? std::optional(*full_wave_flops + *full) : std::nullopt;
    }
  if (full_wave_flops) bench.note("full_wave_flops", std::llround(*full_wave_flops));
  const auto enqueue = [&](cudaStream_t stream) {
    for (const CudaBench::Launch& launch : launches) launch(stream);
  };
  std::int64_t operations = 0;
  for (const CudaBench::Launch& launch : launches) operations += launch.operations;
  bench.measure(work, CudaBench::Launch(enqueue, {.operations = operations}));
}

// The same algorithms from rest and under load.
void model_ceiling(CudaBench& bench, const GemmFormat& format) {
  measure_layers(bench, format, kHidden, kCeilingTokens, [&](const Product& product) {
    const GemmShape& shape = product.shape();
    return bench.remember<GemmAlgorithm>(fmt::format("model.{}.{}", format.name, shape.name()),
                                         [&] { return heuristic_algorithm(bench, format, shape); });
  });
}

void model(CudaBench& bench, const GemmFormat& format) {
  if (bench.find_text("load")) return model_ceiling(bench, format);
  const std::int64_t hidden = bench.integer("hidden"), tokens = bench.integer("tokens");
  const std::string name = bench.text("part");
  if (name == "layer")
    return measure_layers(bench, format, std::array{hidden}, tokens, [&](const Product& product) {
      return product.best_algorithm(bench, kSweepAlgorithms, kSweepSearchSeconds);
    });
  for (const LayerPart& part : kLayer)
    if (name == part.name)
      return measure_with_cold_weights(bench, format, shape_of(part, hidden, tokens));
  throw std::logic_error("unknown part of a layer: " + name);
}

enum class Curve { kNone, kLayers, kLayersAndParts };

std::vector<Point> model_points(Curve curve) {
  std::vector<Point> points;
  for (Point& point : load_points()) {
    point.quick = false;
    // Its share of choosing algorithms and filling the operands.
    point.seconds =
        point.rule == Rule::kBurst ? 1.5 : seconds_of_sustained_point(point.load_s) + 0.4;
    points.push_back(std::move(point));
  }
  if (curve == Curve::kNone) return points;
  for (const std::int64_t hidden : kHidden)
    for (const std::int64_t tokens : kTokens) {
      const auto add = [&](const char* part) {
        points.push_back(
            warm_point({{"hidden", hidden}, {"tokens", tokens}, {"part", std::string(part)}}));
      };
      if (curve == Curve::kLayersAndParts)
        for (const LayerPart& part : kLayer) add(part.name);
      add("layer");
    }
  return points;
}

std::string ceiling_note(const Measurement&) {
  return fmt::format("a layer each of hidden size {}, {} tokens: all FLOPs over the time of all",
                     fmt::join(kHidden, " and "), kCeilingTokens);
}

}  // namespace

void register_gemm_model(Registry& registry) {
  const auto add = [&](const char* format, Curve curve) {
    add_sweep(registry,
              {.area = "model",
               .format = format,
               .what = "Throughput of the products of a transformer layer, one by one and in a row",
               .run = model,
               .points = model_points(curve),
               .curve = model_layer_curve(format),
               .ceilings = load_ceilings_of(gemm_format(format), Basis::kModelBurst,
                                            Basis::kModelShaped, ceiling_note),
               .method_version = 3});
  };
  add("bf16", Curve::kLayersAndParts);
  add("fp8", Curve::kLayers);
  add("int8", Curve::kNone);
}

}  // namespace peakline::bench

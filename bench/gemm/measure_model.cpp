#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gemm/layer.hpp"
#include "bench/gemm/measure_shapes.hpp"
#include "bench/gemm/search.hpp"
#include "harness/conclude/factors.hpp"

namespace peakline::bench {
namespace {

// An SM may hold two tiles of up to this many elements.
constexpr std::int64_t kMostElementsOfTwoTiles = 128 * 128;

GemmShape shape_of(const LayerPart& part, std::int64_t hidden, std::int64_t tokens) {
  return {.m = tokens, .n = part.n * hidden, .k = part.k * hidden};
}

// FLOPs that the SMs could do in the waves of a product's tiles: 2mnk over the share of busy SMs.
// nullopt if the tiles are unknown, or so small that an SM may hold two.
std::optional<double> flops_of_waves(const GemmAlgorithm& algorithm, const GemmShape& shape,
                                     unsigned sms) {
  const auto tile = algorithm.tile();
  const auto tiles = algorithm.tiles(shape);
  if (!tile || !tiles || tile->first * tile->second <= kMostElementsOfTwoTiles) return std::nullopt;
  return shape.flops() / share_of_waves(*tiles, sms);
}

using AlgorithmOf = std::function<GemmAlgorithm(const Product&)>;

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

// Chooses algorithms once for both loads.
void model_ceiling(CudaBench& bench, const GemmFormat& format) {
  measure_layers(bench, format, kHidden, kCeilingTokens, [&](const Product& product) {
    const GemmShape& shape = product.shape();
    return bench.remember<GemmAlgorithm>(fmt::format("model.{}.{}", format.name, shape.name()),
                                         [&] { return heuristic_algorithm(bench, format, shape); });
  });
}

}  // namespace

void gemm_model(CudaBench& bench, std::string_view format_name) {
  const GemmFormat& format = usable_format(bench, format_name);
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

}  // namespace peakline::bench

// What do the matrix products of a transformer layer reach? tokens = batch x sequence.

#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "bench/catalog.hpp"
#include "bench/gemm/curves.hpp"
#include "bench/gemm/shapes.hpp"

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
// For formats in which whole models are rarely trained or served.
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
    const GemmAlgorithm algorithm =
        product.best_algorithm(bench, kSweepAlgorithms, kSweepSearchSeconds);
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
  throw std::logic_error("unknown part of a layer: " + name);
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

void register_gemm_model(Registry& registry) {
  const auto add = [&](const char* format, std::vector<Point> points) {
    add_sweep(registry,
              {"model", format,
               "Throughput of the products of a transformer layer, one by one and in a row", model,
               std::move(points), model_layer_curve(format),
               ceilings_of(gemm_format(format), Basis::kModelShaped, where("part", "layer"),
                           layer_note)});
  };
  add("bf16", model_points(kTokens, true));
  add("fp8", model_points(kTokens, false));
  for (const char* format : {"fp16", "tf32", "int8"})
    add(format, model_points(kTokensShort, false));
}

}  // namespace peakline::bench

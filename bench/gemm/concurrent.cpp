// What do matrix products reach when every GPU of the node works on them, as far as the power and
// cooling of the whole allow?

#include "bench/gemm/product.hpp"
#include "bench/gemm/search.hpp"
#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"

namespace peakline::bench {
namespace {

// Fills any device, and draws as much power as the fastest shape.
constexpr GemmShape kShape{.m = 8192, .n = 8192, .k = 8192};
// A swing of the power control, which takes 0.95 s on an H200.
constexpr double kLoadSeconds = 1.0;
// Until the load has settled, from rest, and the search.
constexpr double kSecondsBefore = 1.7;

void concurrent(CudaBench& bench) {
  const GemmFormat& format = soak_format(bench.device());
  const Product product(bench, format, kShape);
  constexpr double kSearchSeconds = 0.05;
  // The same alone and beside the others.
  const auto& algorithm = bench.remember<GemmAlgorithm>("gemm.concurrent", [&] {
    return product.best_algorithm(bench, kSearchedAlgorithms, kSearchSeconds);
  });
  bench.note("format", std::string(format.name));
  product.prepare(bench, algorithm);
  bench.measure(product.work(), product.launch(algorithm));
}

}  // namespace

void register_gemm_concurrent(Registry& registry, const std::vector<int>& gpus) {
  registry.add({.id = "gemm.concurrent",
                .what = "BF16 products of each GPU alone and of all at once, under sustained load",
                .work = "2 x M x N x K FLOP per product, of one GPU",
                .quantity = Quantity::kFlopRate,
                .loads = Loads::kCores,
                .varies_with = VariesWith::kSearch,
                .limit = limit_of(gemm_format("bf16")),
                .curves = {concurrent_curve("GPUs at once", "BF16 products", "gemm")},
                .points = concurrent_points(gpus, {.params = {},
                                                   .phase = Phase::kNodeLoad,
                                                   .rule = Rule::kSustained,
                                                   .seconds = kLoadSeconds + kSecondsBefore,
                                                   .load_s = kLoadSeconds})},
               concurrent);
}

}  // namespace peakline::bench

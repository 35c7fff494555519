#include <string>

#include "bench/gemm/product.hpp"
#include "bench/gemm/search.hpp"

namespace peakline::bench {
namespace {

// Fills any device, and draws as much power as the fastest shape.
constexpr GemmShape kShape{.m = 8192, .n = 8192, .k = 8192};

}  // namespace

void gemm_concurrent(CudaBench& bench) {
  const GemmFormat& format = soak_format(bench.device());
  const Product product(bench, format, kShape);
  constexpr double kSearchSeconds = 0.05;
  // The GPU alone and beside others runs one algorithm.
  const auto& algorithm = bench.remember<GemmAlgorithm>("gemm.concurrent", [&] {
    return product.best_algorithm(bench, kSearchedAlgorithms, kSearchSeconds);
  });
  bench.note("format", std::string(format.name));
  product.prepare(bench, algorithm);
  bench.measure(product.work(), product.launch(algorithm));
}

}  // namespace peakline::bench

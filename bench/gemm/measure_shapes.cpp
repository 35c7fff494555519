#include "bench/gemm/measure_shapes.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace peakline::bench {
namespace {

constexpr std::int64_t kVocabularyTokens = 4096, kVocabularyHidden = 4096;
constexpr std::int64_t kSkinnySide = 8192;

void measure_shape(CudaBench& bench, const GemmFormat& format, const GemmShape& shape) {
  const Product product(bench, format, shape);
  const GemmAlgorithm algorithm =
      product.best_algorithm(bench, kSweepAlgorithms, kSweepSearchSeconds);
  product.prepare(bench, algorithm);
  bench.measure(product.work(), product.launch(algorithm));
}

// Launches cycle through copies of the weights, this many caches in all.
constexpr double kCachesOfWeights = 4;

std::size_t copies_beyond_cache(CudaBench& bench, const GemmFormat& format,
                                const GemmShape& shape) {
  const double bytes = static_cast<double>(shape.n) * static_cast<double>(shape.k) *
                       static_cast<double>(bytes_of(format.types.w));
  const double l2_bytes = bench.device().l2_bytes.value_or(0x1p26);
  return static_cast<std::size_t>(std::ceil(kCachesOfWeights * l2_bytes / bytes)) + 1;
}

}  // namespace

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

void gemm_alignment(CudaBench& bench, std::string_view format, std::int64_t side) {
  GemmShape shape{.m = side, .n = side, .k = side};
  const std::string dimension = bench.text("dimension");
  (dimension == "M" ? shape.m : dimension == "N" ? shape.n : shape.k) = bench.integer("size");
  measure_shape(bench, gemm_format(format), shape);
}

void gemm_size(CudaBench& bench, std::string_view format) {
  const std::int64_t n = bench.integer("n");
  measure_shape(bench, gemm_format(format), {.m = n, .n = n, .k = n});
}

void gemm_vocabulary(CudaBench& bench, std::string_view format) {
  measure_shape(bench, gemm_format(format),
                {.m = kVocabularyTokens, .n = bench.integer("n"), .k = kVocabularyHidden});
}

void gemm_skinny(CudaBench& bench, std::string_view format) {
  measure_with_cold_weights(bench, gemm_format(format),
                            {.m = bench.integer("m"), .n = kSkinnySide, .k = kSkinnySide});
}

}  // namespace peakline::bench

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/gemm/formats.hpp"
#include "bench/gemm/search.hpp"

namespace peakline::bench {
namespace {

using kernels::Distribution;

// Other tools clear as much; where an L2 could hold part of it, more is cleared.
constexpr std::size_t kClearedBytes = std::size_t{256} << 20;
constexpr double kClearedL2s = 2;
// Products are short, so that cold operands show.
constexpr std::int64_t kClearedDepth = 8192;

void note_candidate(CudaBench& bench, const Candidate& candidate) {
  bench.note("shape", candidate.shape.name());
  bench.note("layout", std::string(to_string(candidate.layout)));
  if (const auto tiles = candidate.algorithm.tiles(candidate.shape)) bench.note("tiles", *tiles);
}

void measure(CudaBench& bench, const GemmFormat& format, const Candidate& candidate,
             Distribution distribution = Distribution::kNormal) {
  const Product product = product_of(bench, format, candidate, distribution);
  note_candidate(bench, candidate);
  product.prepare(bench, candidate.algorithm);
  bench.measure(product.work(), product.launch(candidate.algorithm));
}

void gemm_layout(CudaBench& bench, const GemmFormat& format, const std::string& name) {
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTN, Layout::kTT}) {
    if (name != to_string(layout)) continue;
    Candidate candidate = best_product(bench, format);
    candidate.layout = layout;
    const Product product = product_of(bench, format, candidate);
    constexpr double kSeconds = 0.04;
    candidate.algorithm = product.best_algorithm(bench, kSearchedAlgorithms, kSeconds);
    bench.note("shape", candidate.shape.name());
    product.prepare(bench, candidate.algorithm);
    return bench.measure(product.work(), product.launch(candidate.algorithm));
  }
  throw std::logic_error("unknown layout: " + name);
}

// Clears the caches before each product, as mamf-finder and other work in training do. Writing is
// as good as reading: on an H200 both give the same rate to 0.4 %, despite write-backs.
void gemm_cleared(CudaBench& bench, const GemmFormat& format) {
  const std::size_t bytes = bench.beyond_l2(kClearedBytes, kClearedL2s);
  const cuda::DeviceBuffer<std::byte> other(bench.fit_memory(bytes, bytes));
  const CudaBench::Launch clear = [&](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemsetAsync(other.data(), 0, other.size(), stream));
  };
  Candidate candidate = best_product(bench, format);
  candidate.shape.k = std::min(candidate.shape.k, kClearedDepth);
  const Product product = product_of(bench, format, candidate);
  if (!product.gemm().takes(candidate.algorithm))
    candidate.algorithm = heuristic_algorithm(bench, format, candidate.shape);
  note_candidate(bench, candidate);
  product.prepare(bench, candidate.algorithm);
  bench.measure_interleaved(product.work(), product.launch(candidate.algorithm), clear);
}

struct Data {
  std::string_view name;
  Distribution distribution;
};
constexpr std::array kData = {Data{"normal", Distribution::kNormal},
                              Data{"zeros", Distribution::kZeros},
                              Data{"half_zeros", Distribution::kHalfZeros}};
static_assert(std::ranges::equal(kData, kOperandData, {}, &Data::name));

Distribution distribution_of(const std::string& name) {
  for (const auto& [known, distribution] : kData)
    if (name == known) return distribution;
  throw std::logic_error("unknown data: " + name);
}

}  // namespace

void gemm_products(CudaBench& bench, std::string_view name) {
  const GemmFormat& format = usable_format(bench, name);
  if (const auto layout = bench.find_text("layout")) return gemm_layout(bench, format, *layout);
  if (bench.find_text("l2")) return gemm_cleared(bench, format);
  if (const auto data = bench.find_text("data"))
    return measure(bench, format, best_product(bench, format), distribution_of(*data));
  if (bench.timing() != Timing::kSoak) return measure(bench, format, best_product(bench, format));
  const GemmFormat& soaked = soak_format(bench.device());
  if (&soaked != &format) {
    bench.note("format", std::string(soaked.name));
    bench.remark(std::string("the device has no ") + format.name + ": the soak uses " +
                 soaked.name);
  }
  measure(bench, soaked, best_product(bench, soaked));
}

}  // namespace peakline::bench

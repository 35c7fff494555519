// What do matrix products reach? cuBLASLt over shapes, layouts and algorithms; the best one from
// rest, under sustained load, with cold caches, and on data that toggle fewer bits.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bench/gemm/curves.hpp"
#include "bench/gemm/search.hpp"

namespace peakline::bench {
namespace {

using kernels::Distribution;

// More than any L2, and the amount that other tools clear.
constexpr std::size_t kClearedBytes = std::size_t{256} << 20;
// The products behind it are short, so that operands that are no longer cached show.
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

// Before each product the caches are filled with other data, and the matrix units rest meanwhile:
// the pattern of mamf-finder, and of training, where other work runs between products. Writing is
// as good as reading: on an H200 products of 142 and 137 GFLOP reach the same rate behind either,
// to within 0.4 %, so the lines that are still to be written back do not count.
void gemm_cleared(CudaBench& bench, const GemmFormat& format) {
  const cuda::DeviceBuffer<std::byte> other(bench.fit_memory(kClearedBytes, kClearedBytes));
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

// They are measured in this order: what draws the full power comes first, since for half a second
// after a lighter load the power control grants more than its cap. The one behind the light ones
// takes that half second from the format that follows.
constexpr std::array<std::pair<const char*, Distribution>, 6> kData{
    {{"normal", Distribution::kNormal},
     {"uniform", Distribution::kUniform},
     {"low_bits_cleared", Distribution::kLowBitsCleared},
     {"constant", Distribution::kConstant},
     {"zeros", Distribution::kZeros},
     {"half_zeros", Distribution::kHalfZeros}}};

Distribution distribution_of(const std::string& name) {
  for (const auto& [known, distribution] : kData)
    if (name == known) return distribution;
  throw std::logic_error("unknown data: " + name);
}

void gemm(CudaBench& bench, const GemmFormat& format) {
  if (const auto layout = bench.find_text("layout")) return gemm_layout(bench, format, *layout);
  if (bench.find_text("l2")) return gemm_cleared(bench, format);
  if (const auto data = bench.find_text("data"))
    return measure(bench, format, best_product(bench, format), distribution_of(*data));
  if (bench.rule() != Rule::kSoak) return measure(bench, format, best_product(bench, format));
  const GemmFormat& soaked = soak_format(bench.device());
  if (&soaked != &format) {
    bench.note("format", std::string(soaked.name));
    bench.remark(std::string("the device has no ") + format.name + ": the soak uses " +
                 soaked.name);
  }
  measure(bench, soaked, best_product(bench, soaked));
}

// The differences between data are far larger than a swing of the power control.
constexpr double kDataLoadSeconds = 0.3;

struct Parts {
  bool variant = false;  // of another format: only from rest, by the brief rule
  bool quick = false;
  bool cleared = false;
  std::vector<std::string_view> data = {};  // of kData, in its order
  double soak_s = 0;
};

std::vector<Point> gemm_points(const Parts& parts) {
  std::vector<Point> points;
  const auto add = [&](const char* name, std::string_view value, Phase phase, Rule rule,
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
    // Its share of the search, and filling the operands.
    point.seconds += point.rule == Rule::kBurst ? 0.9 : 0.2;
    points.push_back(std::move(point));
  }
  for (const char* layout : {"NN", "NT", "TN", "TT"})
    add("layout", layout, Phase::kWarm, Rule::kCurve, 0.1);
  if (parts.cleared) add("l2", "cleared", Phase::kWarm, Rule::kBrief, 1.2);
  for (const std::string_view data : parts.data) {
    add("data", data, Phase::kSustained, Rule::kSustained, 0.8);
    points.back().load_s = kDataLoadSeconds;
  }
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
                  .work = format.whole_numbers ? "2 x M x N x K operations per product"
                                               : "2 x M x N x K FLOP per product",
                  .quantity = quantity_of(format),
                  .method_version = 3,
                  .loads = Loads::kCores,
                  .varies_with = VariesWith::kSearch,
                  .limit = limit_of(format),
                  .ceilings = parts.variant ? std::vector<CeilingRule>() : load_ceilings_of(format),
                  .curves = {operand_data_curve(name), layouts_curve(name),
                             cleared_cache_curve(name), soak_curve()},
                  .points = gemm_points(parts)},
                 [&format](CudaBench& bench) { gemm(bench, format); });
  };
  std::vector<std::string_view> all_data;
  for (const auto& [data, distribution] : kData) all_data.emplace_back(data);
  add("bf16", {.quick = true, .cleared = true, .data = all_data, .soak_s = soak_s});
  add("fp16", {.quick = true, .cleared = true});
  add("tf32", {.quick = true, .cleared = true});
  // Normal data and zeros are the extremes of BF16; two say it for FP8.
  add("fp8", {.quick = true, .cleared = true, .data = {"normal", "zeros"}});
  add("fp8_e5m2", {.variant = true});
  add("fp8_accurate", {.variant = true});
  add("int8", {});
  add("fp64", {});
  add("fp32", {});
}

}  // namespace peakline::bench

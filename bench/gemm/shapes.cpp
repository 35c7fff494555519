// What keeps a matrix product from its ceiling? Unaligned dimensions, and too few rows.

#include "bench/gemm/shapes.hpp"

#include "bench/gemm/curves.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

// side: of the aligned product.
void gemm_alignment(CudaBench& bench, std::string_view format, std::int64_t side);
void gemm_vocabulary(CudaBench& bench, std::string_view format);
void gemm_skinny(CudaBench& bench, std::string_view format);

namespace {

// Dimensions of the aligned product, of which one is then slightly shorter.
constexpr std::int64_t kAlignedSide = 8192;
// Powers of two, so that each of them is the largest that divides one of the sizes.
constexpr std::array<std::int64_t, 9> kShorterBy = {0, 1, 2, 4, 8, 16, 32, 64, 128};
// One-byte formats accept only multiples of 16.
constexpr std::array<std::int64_t, 5> kShorterBy16 = {0, 16, 32, 64, 128};

std::vector<Point> alignment_points(std::span<const std::int64_t> shorter_by) {
  std::vector<ParamValue> sizes;
  for (const std::int64_t by : shorter_by) sizes.emplace_back(kAlignedSide - by);
  return points_over({{"dimension", {"M", "N", "K"}}, {"size", std::move(sizes)}}, kWarm);
}

}  // namespace

void add_sweep(Registry& registry, GemmSweep sweep) {
  const ProductFormat& format = product_format(sweep.format);
  registry.add({.id = std::string("gemm.") + sweep.area + "." + sweep.format,
                .what = sweep.what,
                .work = "2 x M x N x K FLOP per product",
                .quantity = quantity_of(format),
                .method_version = sweep.method_version,
                .loads = Loads::kCores,
                .varies_with = VariesWith::kSearch,
                .limit = limit_of(format),
                .ceilings = std::move(sweep.ceilings),
                .curves = std::move(sweep.curves),
                .topics = std::move(sweep.topics),
                .runs_on = devices_of(format),
                .never_run = format.blocks,
                .points = std::move(sweep.points)},
               std::move(sweep.run));
}

void register_gemm_shapes(Registry& registry) {
  constexpr const char* kAlignment =
      "Throughput of 8192^3 products with one side slightly shorter: the cost of odd sizes";
  const auto alignment = [](const char* format) {
    return on_gpu([format](auto& bench) { gemm_alignment(bench, format, kAlignedSide); });
  };
  add_sweep(registry, {"alignment",
                       "bf16",
                       kAlignment,
                       alignment("bf16"),
                       alignment_points(kShorterBy),
                       {product_sides_curve("bf16")},
                       {},
                       {{kProductSides, product_sides_title}}});
  for (const char* format : {"fp8", "int8"})
    add_sweep(registry, {"alignment",
                         format,
                         kAlignment,
                         alignment(format),
                         alignment_points(kShorterBy16),
                         {product_sides_curve(format)}});

  // GPT-2's vocabulary, as it is and padded to a multiple of 128.
  const auto vocabularies = points_over("n", {50257, 50304}, kWarm);
  add_sweep(
      registry,
      {"vocabulary",
       "bf16",
       "Throughput of the output layer of a language model, 4096 x N x 4096: the cost of N = 50257",
       on_gpu([](auto& bench) { gemm_vocabulary(bench, "bf16"); }),
       vocabularies,
       {vocabulary_curve("bf16")}});

  const auto skinny = [&](const char* format, std::vector<Topic> topics = {}) {
    add_sweep(registry, {"skinny",
                         format,
                         "Throughput of M x 8192 x 8192 products, weights from device memory: "
                         "where decoding turns from memory to compute",
                         on_gpu([format](auto& bench) { gemm_skinny(bench, format); }),
                         points_over("m", multiples(1, 4096), kWarm),
                         {skinny_curve(format)},
                         {},
                         std::move(topics)});
  };
  skinny("bf16", {{kSkinny, skinny_title, skinny_picture()}});
  skinny("fp8");
}

}  // namespace peakline::bench

// What do matrix products reach when all GPUs share the node's power and cooling?

#include "bench/gemm/formats.hpp"
#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void gemm_concurrent(CudaBench& bench);

namespace {

// One swing of the power control takes 0.95 s on an H200.
constexpr double kLoadSeconds = 1.0;
// For the search, and until the load has settled from rest.
constexpr double kSecondsBefore = 1.7;

constexpr const char* kTopic = "GPUs at once";

std::string title(const TitleView& view) {
  const auto share = [&](const char* id) {
    return format_percent(view.value({.id = id, .name = "share_of_alone"}));
  };
  return fmt::format("Beside all others a GPU keeps {} of its memory bandwidth, {} of BF16 GEMMs",
                     share("hbm.concurrent"), share("gemm.concurrent"));
}

}  // namespace

void register_gemm_concurrent(Registry& registry, const std::vector<int>& gpus) {
  registry.add({.id = "gemm.concurrent",
                .what = "BF16 products of all GPUs at once and of one alone, under sustained load",
                .work = "2 x M x N x K FLOP per product, of one GPU",
                .quantity = Quantity::kFlopRate,
                .loads = Loads::kCores,
                .varies_with = VariesWith::kSearch,
                .limit = limit_of(product_format("bf16")),
                .curves = {concurrent_curve(kTopic, Quantity::kFlopRate)},
                .topics = {{kTopic, title}},
                .points = concurrent_points(gpus,
                                            {.phase = Phase::kNodeLoad,
                                             .timing = Timing::kSustained,
                                             .seconds = kLoadSeconds + kSecondsBefore,
                                             .load_s = kLoadSeconds},
                                            true)},
               on_gpu([](auto& bench) { gemm_concurrent(bench); }));
}

}  // namespace peakline::bench

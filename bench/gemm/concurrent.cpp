// What do matrix products reach when every GPU of the node works on them, as far as the power and
// cooling of the whole allow?

#include "bench/gemm/formats.hpp"
#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void gemm_concurrent(CudaBench& bench);

namespace {

// A swing of the power control, which takes 0.95 s on an H200.
constexpr double kLoadSeconds = 1.0;
// It takes so long until the load has settled, from rest, with the search.
constexpr double kSecondsBefore = 1.7;

}  // namespace

void register_gemm_concurrent(Registry& registry, const std::vector<int>& gpus) {
  registry.add({.id = "gemm.concurrent",
                .what = "BF16 products of each GPU alone and of all at once, under sustained load",
                .work = "2 x M x N x K FLOP per product, of one GPU",
                .quantity = Quantity::kFlopRate,
                .loads = Loads::kCores,
                .varies_with = VariesWith::kSearch,
                .limit = limit_of(product_format("bf16")),
                .curves = {concurrent_curve("GPUs at once", "BF16 products", Quantity::kFlopRate)},
                .points = concurrent_points(gpus, {.phase = Phase::kNodeLoad,
                                                   .rule = Rule::kSustained,
                                                   .seconds = kLoadSeconds + kSecondsBefore,
                                                   .load_s = kLoadSeconds})},
               on_gpu([](auto& bench) { gemm_concurrent(bench); }));
}

}  // namespace peakline::bench

// What is the FMA throughput of the CUDA cores?

#include "bench/question.hpp"
#include "harness/benchmark/load_points.hpp"

namespace peakline::bench {

void fma_fp32(CudaBench& bench);
void fma_fp64(CudaBench& bench);
void fma_fp16(CudaBench& bench);

void register_fma(Registry& registry) {
  const auto add = [&](const std::string& format, const char* what, Run run) {
    const std::string unit = "cuda_core." + format;
    registry.add({.id = "fma." + format,
                  .what = what,
                  .work = "2 FLOP per FMA and thread (4 for packed halves)",
                  .quantity = Quantity::kFlopRate,
                  .method_version = 2,  // v1 spent 1 % on the loop
                  .loads = Loads::kCores,
                  // A third of an H200's FP64 trains run one clock step lower.
                  .estimate = Estimate::kTrimmedMean,
                  .limit = compute_peak({unit.c_str()}),
                  .ceilings = {{resource(unit), Basis::kBurst, where("load", "burst")},
                               {resource(unit), Basis::kSustained, where("load", "sustained")}},
                  .curves = {sustained_load_curve(upper(format) + " FMA")},
                  // An H200 stays below its power cap: 436 to 501 of 700 W at the maximum clock.
                  .points = load_points(kShortLoadSeconds)},
                 std::move(run));
  };
  add("fp32", "FP32 FMA throughput of the CUDA cores, operands in registers",
      on_gpu([](auto& bench) { fma_fp32(bench); }));
  add("fp64", "FP64 FMA throughput of the CUDA cores, operands in registers",
      on_gpu([](auto& bench) { fma_fp64(bench); }));
  add("fp16", "Packed FP16 FMA throughput of the CUDA cores, operands in registers",
      on_gpu([](auto& bench) { fma_fp16(bench); }));
}

}  // namespace peakline::bench

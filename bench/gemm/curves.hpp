#pragma once

// How the curves of matrix products are summed up. format: "bf16", as in ids.

#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// gemm.<format>/data: the fastest data against normally distributed data, with the power of both.
CurveRule operand_data_curve(std::string format);
// gemm.<format>/layout: those that are slower than the fastest, per clock.
CurveRule layouts_curve(std::string format);
// gemm.<format>/l2:cleared against burst.
CurveRule cleared_cache_curve(std::string format);
// gemm.<format>/load:soak.
CurveRule soak_curve();
// gemm.alignment.<format>: the worst size of each side, per clock.
CurveRule product_sides_curve(std::string format);
// gemm.vocabulary.<format>: unpadded against padded.
CurveRule vocabulary_curve(std::string format);
// gemm.waves.<format>: where one tile beyond a full wave costs most.
CurveRule waves_curve();
// gemm.skinny.<format>: the M at which half the burst rate is reached, and the share of the
// roofline below it.
CurveRule skinny_curve(std::string format);
// gemm.model.<format>: the layer of the largest hidden size, at its best and at one token.
CurveRule model_layer_curve(std::string format);

}  // namespace peakline::bench

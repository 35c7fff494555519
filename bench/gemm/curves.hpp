#pragma once

// What the sweeps over matrix products say. format: "bf16", as in ids.

#include <string>

#include "harness/core/benchmark.hpp"

namespace peakline::bench {

// gemm.<format>/data: the fastest kind of operands against normal ones, with the power of both.
CurveRule operand_data_curve(std::string format);
// gemm.<format>/l2:cleared against burst.
CurveRule cleared_cache_curve(std::string format);
// gemm.<format>/load:soak.
CurveRule soak_curve();
// gemm.alignment.<format>: the worst size of each side, per clock.
CurveRule product_sides_curve(std::string format);
// gemm.vocabulary.<format>: as it is against padded.
CurveRule vocabulary_curve(std::string format);
// gemm.waves.<format>: where one tile more than a full wave costs most.
CurveRule waves_curve();
// gemm.skinny.<format>: from which M on half of burst is had, and the share of the roofline below.
CurveRule skinny_curve(std::string format);
// gemm.model.<format>: the layer of the largest hidden size, at most and at one token.
CurveRule model_layer_curve(std::string format);

}  // namespace peakline::bench

#pragma once

// The measured matrix instructions, in the order of their benchmarks.

#include <array>
#include <string_view>

namespace peakline::bench {

struct MatrixInstruction {
  std::string_view id;      // of the benchmark
  std::string_view format;  // operands and accumulation
};
inline constexpr std::array kMatrixInstructions = {
    MatrixInstruction{"mma.sync.fp16", "FP16, FP32 accumulation"},
    MatrixInstruction{"mma.sync.fp16_acc16", "FP16, FP16 accumulation"},
    MatrixInstruction{"mma.sync.bf16", "BF16, FP32 accumulation"},
    MatrixInstruction{"mma.sync.tf32", "TF32, FP32 accumulation"},
    MatrixInstruction{"mma.sync.fp64", "FP64"},
    MatrixInstruction{"mma.sync.int8", "INT8, INT32 accumulation"},
    MatrixInstruction{"mma.sync.fp8", "FP8 (e4m3), FP32 accumulation"},
    MatrixInstruction{"mma.wgmma.fp16", "FP16, FP32 accumulation"},
    MatrixInstruction{"mma.wgmma.fp16_acc16", "FP16, FP16 accumulation"},
    MatrixInstruction{"mma.wgmma.bf16", "BF16, FP32 accumulation"},
    MatrixInstruction{"mma.wgmma.tf32", "TF32, FP32 accumulation"},
    MatrixInstruction{"mma.wgmma.fp8", "FP8 (e4m3), FP32 accumulation"},
    MatrixInstruction{"mma.wgmma.int8", "INT8, INT32 accumulation"}};

}  // namespace peakline::bench

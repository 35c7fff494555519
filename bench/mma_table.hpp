#pragma once

// The measured matrix instructions, in the order of their benchmarks.

#include <algorithm>
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

// Whether wgmma, which 9.0 has, is the faster way to the units of this mma.sync.
constexpr bool is_slower_twin(std::string_view id, int compute_major) {
  constexpr std::string_view kSync = "mma.sync.", kWgmma = "mma.wgmma.";
  if (compute_major != 9 || !id.starts_with(kSync)) return false;
  return std::ranges::any_of(kMatrixInstructions, [&](const MatrixInstruction& other) {
    return other.id.starts_with(kWgmma) &&
           other.id.substr(kWgmma.size()) == id.substr(kSync.size());
  });
}

}  // namespace peakline::bench

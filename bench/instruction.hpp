#pragma once

// The measured instructions, in the order of their points.

#include <array>
#include <optional>
#include <string_view>

#include "harness/values/facts.hpp"
#include "harness/values/measurement.hpp"

namespace peakline::bench {

inline constexpr auto kInstructionNames = std::to_array<std::string_view>(
    {"fp32_add",   "fp32_mul",     "fp32_fma",      "fp64_add",      "fp64_mul",
     "fp64_fma",   "fp16x2_add",   "fp16x2_mul",    "fp16x2_fma",    "int32_add",
     "int32_mad",  "int32_shift",  "int32_logic",   "int32_dot",     "rcp",
     "rsqrt",      "sin",          "ex2",           "lg2",           "tanh",
     "f16_to_f32", "f32_to_f16x2", "f32_to_bf16x2", "f32_to_e4m3x2", "e4m3x2_to_f16x2",
     "f32_to_i32", "i32_to_f32",   "f32_to_f64",    "f64_to_f32",    "shuffle",
     "vote",       "match",        "reduce",        "ldmatrix"});

// At the measurement's clock; nullopt if unknown.
std::optional<double> results_per_clock_per_sm(const Measurement& m, const DeviceFacts& device);
// The measured time in cycles of its own clock.
std::optional<double> latency_cycles(const Measurement& m);

}  // namespace peakline::bench

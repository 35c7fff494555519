#pragma once

// Formats of GEMMs, for registrations; free of CUDA.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/conclude/benchmark.hpp"

namespace peakline::bench {

// The GPUs whose format it is in cuBLASLt.
enum class MadeFor {
  kAll,
  kHopper,     // compute capability 9.0
  kBlackwell,  // 10.0 and up
};

struct ProductFormat {
  const char* name;            // the last part of ids
  const char* what;            // operands, accumulation, output
  bool whole_numbers = false;  // the rate is in OP/s
  MadeFor made_for = MadeFor::kAll;
  // The format whose fastest shape it takes: one of the same size and units.
  const char* shape_of = nullptr;
};

inline constexpr std::array kProductFormats = {
    ProductFormat{.name = "fp64",
                  .what = "Throughput of FP64 matrix products, FP64 accumulation and output"},
    ProductFormat{
        .name = "fp32",
        .what =
            "Throughput of FP32 matrix products, no Tensor Cores, FP32 accumulation and output"},
    ProductFormat{
        .name = "tf32",
        .what = "Throughput of TF32 matrix products (FP32 operands), FP32 accumulation and output"},
    ProductFormat{
        .name = "bf16",
        .what =
            "Throughput of BF16 matrix products on Tensor Cores, FP32 accumulation, BF16 output"},
    ProductFormat{
        .name = "fp16",
        .what =
            "Throughput of FP16 matrix products on Tensor Cores, FP32 accumulation, FP16 output",
        .shape_of = "bf16"},
    ProductFormat{
        .name = "fp8",
        .what = "Throughput of scaled FP8 products (e4m3 x e4m3), fast accumulation, BF16 output"},
    ProductFormat{
        .name = "fp8_e5m2",
        .what = "Throughput of scaled FP8 products (e4m3 x e5m2), fast accumulation, BF16 output",
        .shape_of = "fp8"},
    ProductFormat{
        .name = "fp8_accurate",
        .what = "Throughput of scaled FP8 products (e4m3 x e4m3), FP32 accumulation, BF16 output"},
    ProductFormat{.name = "fp8_row",
                  .what =
                      "Throughput of FP8 products with a scale for each row, fast accumulation, "
                      "BF16 output",
                  .made_for = MadeFor::kHopper,
                  .shape_of = "fp8"},
    ProductFormat{.name = "fp8_block",
                  .what = "Throughput of FP8 products with a scale for each 1 x 128 of X and 128 x "
                          "128 of W, BF16 output",
                  .made_for = MadeFor::kHopper,
                  .shape_of = "fp8"},
    ProductFormat{.name = "fp8_block_both",
                  .what = "Throughput of FP8 products with a scale for each 1 x 128 of X and W, "
                          "BF16 output",
                  .made_for = MadeFor::kHopper,
                  .shape_of = "fp8"},
    ProductFormat{
        .name = "int8",
        .what = "Throughput of INT8 matrix products on Tensor Cores, INT32 accumulation and output",
        .whole_numbers = true},
    ProductFormat{.name = "mxfp8",
                  .what = "Throughput of MXFP8 products (e4m3 x e4m3, a scale for each 32), FP32 "
                          "accumulation, BF16 output",
                  .made_for = MadeFor::kBlackwell},
    ProductFormat{.name = "mxfp8_e5m2",
                  .what = "Throughput of MXFP8 products (e4m3 x e5m2, a scale for each 32), FP32 "
                          "accumulation, BF16 output",
                  .made_for = MadeFor::kBlackwell,
                  .shape_of = "mxfp8"},
    ProductFormat{.name = "nvfp4",
                  .what = "Throughput of NVFP4 products (e2m1 x e2m1, a scale for each 16), FP32 "
                          "accumulation, BF16 output",
                  .made_for = MadeFor::kBlackwell}};

// The format of this name in kProductFormats; throws std::logic_error for others.
const ProductFormat& product_format(std::string_view name);

Quantity quantity_of(const ProductFormat& format);

// Devices that support the format; empty: all.
std::function<bool(const DeviceFacts&)> devices_of(const ProductFormat& format);

// Peak of the unit that the format runs on.
Limit limit_of(const ProductFormat& format);
// That unit's ceilings by load; for FP64, the CUDA cores' if Tensor Cores lack FP64.
std::vector<CeilingRule> load_ceilings_of(
    const ProductFormat& format, Basis burst = Basis::kBurst, Basis sustained = Basis::kSustained,
    const std::function<std::string(const Measurement&)>& note = {});

// Operand data, in the order of measurement. For half a second after a lighter load, power control
// grants more than its cap: normal data precede zeros, and half_zeros, which draw the full power,
// come last, so that this half second does not fall on the next format.
inline constexpr auto kOperandData =
    std::to_array<std::string_view>({"normal", "zeros", "half_zeros"});

}  // namespace peakline::bench

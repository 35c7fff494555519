#pragma once

// Curve rules of matrix products. `format` is "bf16", as in ids.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

inline constexpr const char* kOperandDataTopic = "operand data";
inline constexpr const char* kVariants = "product variants";
inline constexpr const char* kSoak = "soak";
inline constexpr const char* kProductSides = "product sides";
inline constexpr const char* kWaves = "waves";
inline constexpr const char* kSkinny = "skinny products";
inline constexpr const char* kModelLayer = "model layer";

// "fp8_e5m2" is "FP8 E5M2", "fp8_accurate" is "FP8 accurate".
std::string format_label(std::string_view format);

// Share of the format's burst rate per clock; nullopt if either clock was not read.
std::optional<double> share_of_burst(const Measurement& m, const CurveView& curve,
                                     std::string_view format);
// A product with this share of the burst rate per clock gains nothing from a larger size.
inline constexpr double kFullShare = 0.9;
// Given shares in the order of their sizes: the smallest size from which all larger ones keep
// kFullShare; nullopt if the largest falls short.
std::optional<std::int64_t> first_at_share(
    const std::vector<std::pair<std::int64_t, double>>& shares);

// gemm.<format>/data: the fastest data against normally distributed data, and the power of both.
// Figures rate and power by data.
CurveRule operand_data_curve(const std::string& format);
// gemm.<format>/layout and /l2:cleared: layouts slower than the fastest, and the cost of a cold
// cache, per clock. Figures share_of_burst by variant; cold_rate; burst_share for other encodings.
CurveRule variants_curve(const std::string& format);
// Figures rate, power, duration, equilibrium_after, equilibrium_temperature of load:soak.
CurveRule soak_curve();
// gemm.alignment.<format>, per clock. Figures worst_size and worst_share_per_clock by dimension.
CurveRule product_sides_curve(const std::string& format);
// gemm.vocabulary.<format>: unpadded against padded. Figures time and rate by n, share_per_clock.
CurveRule vocabulary_curve(const std::string& format);
// gemm.waves.<format>: where one tile beyond a full wave costs most. Figures share and
// ideal_share by m; waves_before, waves_after, and the shares of the rate past the edge.
CurveRule waves_curve();
// gemm.skinny.<format>: the M that reaches half the burst rate, and the share of the roofline below
// it. Figures half_burst_m, ridge_m, share_of_roofline, roofline by m.
CurveRule skinny_curve(const std::string& format);
// gemm.model.<format>: the layer with the largest hidden size, at its best and at one token.
// Figures share_of_burst by tokens; share_per_clock, of burst, by part, hidden and tokens;
// full_rate_tokens, the tokens that reach kFullShare, by hidden.
CurveRule model_layer_curve(const std::string& format);

std::string operand_data_title(const TitleView& view);
std::string variants_title(const TitleView& view);
std::string sustained_title(const TitleView& view);
std::string soak_title(const TitleView& view);
std::string product_sides_title(const TitleView& view);
std::string waves_title(const TitleView& view);
std::string skinny_title(const TitleView& view);
std::string model_layer_title(const TitleView& view);

// Declared pictures; the other topics' are drawn by hand.
Picture operand_data_picture();
Picture variants_picture();
Picture skinny_picture();
Picture model_layer_picture();

}  // namespace peakline::bench

#pragma once

// How the curves of matrix products are summed up. format: "bf16", as in ids.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/values/benchmark.hpp"

namespace peakline::bench {

// Their topics, beside kSustainedLoad.
inline constexpr const char* kOperandDataTopic = "operand data";
inline constexpr const char* kVariants = "product variants";
inline constexpr const char* kSoak = "soak";
inline constexpr const char* kProductSides = "product sides";
inline constexpr const char* kWaves = "waves";
inline constexpr const char* kSkinny = "skinny products";
inline constexpr const char* kModelLayer = "model layer";

// "fp8_e5m2" is "FP8 E5M2", "fp8_accurate" is "FP8 accurate".
std::string format_label(std::string_view format);

// The share of the format's burst rate per clock that a measurement keeps; nullopt where either
// clock was not read.
std::optional<double> share_of_burst(const Measurement& m, const CurveView& curve,
                                     std::string_view format);
// A product of this share of the burst rate per clock has nothing left to gain from its size.
inline constexpr double kFullShare = 0.9;
// The smallest of the measured sizes from which all larger ones keep kFullShare, given the shares
// in the order of their sizes; nullopt where the largest falls short.
std::optional<std::int64_t> first_at_share(
    const std::vector<std::pair<std::int64_t, double>>& shares);

// gemm.<format>/data: the fastest data against normally distributed data, with the power of both.
// Figures rate and power by data.
CurveRule operand_data_curve(const std::string& format);
// gemm.<format>/layout and /l2:cleared: the layouts that are slower than the fastest, and what a
// cold cache costs, per clock. Figures share_of_burst by variant, of the format's burst; cold_rate;
// for other encodings of a format burst_share.
CurveRule variants_curve(const std::string& format);
// gemm.<format>/load:soak. Figures rate, power, duration, equilibrium_after,
// equilibrium_temperature.
CurveRule soak_curve();
// gemm.alignment.<format>: the worst size of each side, per clock. Figures worst_size and
// worst_share_per_clock by dimension.
CurveRule product_sides_curve(const std::string& format);
// gemm.vocabulary.<format>: unpadded against padded. Figures time and rate by n,
// share_per_clock.
CurveRule vocabulary_curve(const std::string& format);
// gemm.waves.<format>: where one tile beyond a full wave costs most. Figures share and
// ideal_share by m; waves_before, waves_after, and the shares of the rate past the edge.
CurveRule waves_curve();
// gemm.skinny.<format>: the M at which half the burst rate is reached, and the share of the
// roofline below it. Figures half_burst_m, ridge_m, share_of_roofline, roofline by m.
CurveRule skinny_curve(const std::string& format);
// gemm.model.<format>: the layer of the largest hidden size, at its best and at one token. Figures
// share_of_burst by tokens; share_per_clock, of the burst rate per clock, by part, hidden size and
// tokens; full_rate_tokens, from which a layer keeps kFullShare, by hidden size.
CurveRule model_layer_curve(const std::string& format);

// The titles of the topics.
std::string operand_data_title(const TitleView& view);
std::string variants_title(const TitleView& view);
std::string sustained_title(const TitleView& view);
std::string soak_title(const TitleView& view);
std::string product_sides_title(const TitleView& view);
std::string waves_title(const TitleView& view);
std::string skinny_title(const TitleView& view);
std::string model_layer_title(const TitleView& view);

// Their pictures; the others are drawn by hand.
Picture operand_data_picture();
Picture variants_picture();
Picture skinny_picture();
Picture model_layer_picture();

}  // namespace peakline::bench

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bench/gemm/curves.hpp"
#include "bench/gemm/layer.hpp"

namespace peakline::bench {
namespace {

// The formats of `gemm.<format>`, in the order of the catalogue.
constexpr std::array kFormats = {"bf16",         "fp16", "tf32", "fp8", "fp8_e5m2",
                                 "fp8_accurate", "int8", "fp64", "fp32"};

std::vector<std::pair<std::string, std::string>> format_names() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const char* format : kFormats) names.emplace_back(format, format_label(format));
  return names;
}

}  // namespace

Picture operand_data_picture() {
  const auto panel = [](const char* figure, const char* label, double per, Mark mark) -> Panel {
    Panel dots{.kind = PanelKind::kDots,
               .over = "data",
               .x = {.label = label, .per = per},
               .series = {},
               .marks = {std::move(mark)},
               .names = format_names()};
    for (const char* format : {"bf16", "fp8"})
      dots.series.push_back(
          {"{}", {.id = std::string("gemm.") + format, .figure = figure}, "format"});
    return dots;
  };
  return {.key = "data",
          .subject = "Operand data: what the values themselves cost",
          .how =
              "Switching bits costs power, and a card at its power limit lowers its clock for "
              "it: data that toggle fewer bits run faster. Left the rate under sustained load "
              "against normally distributed data, right the power; dashed is the limit.",
          .panels = {panel("share_of_normal", "rate, % of normal data", 0.01,
                           {.label = "normal data", .value = 1.0}),
                     panel("power", "power, W", 1,
                           {.label = "the limit",
                            .figure = Numbers{.id = "gemm.bf16", .figure = "power_limit"}})}};
}

Picture variants_picture() {
  Panel panel{.kind = PanelKind::kDots,
              .over = "format",
              .x = {.label = "% of the format's burst, per clock", .per = 0.01},
              .series = {},
              .marks = {{.label = "the format's burst", .value = 1.0}},
              .names = format_names()};
  for (const char* variant : {"TN", "NN", "NT", "TT", "cold L2"})
    for (const char* format : kFormats)
      panel.series.push_back({variant,
                              {.id = std::string("gemm.") + format,
                               .figure = "share_of_burst",
                               .where = {{"variant", variant}}}});
  for (const char* format : kFormats)
    panel.series.push_back(
        {"burst", {.id = std::string("gemm.") + format, .figure = "burst_share"}});
  return {.key = "variants",
          .subject = "Layouts and FP8: matrix products by variant, and with a cold cache",
          .how =
              "Each row is a format; 100 % is its burst, the best shape and layout, and for the "
              "other FP8 formats that of FP8. Layouts are named as cuBLASLt does, column-major; "
              "with a cold L2 the operands come from device memory. FP8 accurate does not use "
              "fast accumulation.",
          .panels = {std::move(panel)}};
}

Picture skinny_picture() {
  std::vector<PictureSeries> series;
  for (const char* format : {"bf16", "fp8"})
    series.push_back({format_label(format), {.id = std::string("gemm.skinny.") + format}});
  for (const char* format : {"bf16", "fp8"})
    series.push_back({format_label(format) + " roofline",
                      {.id = std::string("gemm.skinny.") + format, .figure = "roofline"}});
  std::vector<Mark> ridges;
  for (const char* format : {"bf16", "fp8"})
    ridges.push_back(
        {.label = format_label(format) + " ridge",
         .upright = true,
         .figure = Numbers{.id = std::string("gemm.skinny.") + format, .figure = "ridge_m"}});
  return {
      .key = "skinny",
      .subject = "Few rows: from memory-bound to compute-bound",
      .how =
          "Products of M × 8192 × 8192. The rooflines are the intensity times HBM read, up "
          "to the burst ceiling. Left of the bend another row is free, since the weights "
          "come from memory anyway: that is where a language model decodes. Below its "
          "roofline, the library loses time.",
      .panels = {{.over = "m",
                  .x = {.label = "M, rows", .written = Written::kInteger, .scale = Scale::kLog2},
                  .y = {.label = "TFLOP/s", .per = 1e12, .scale = Scale::kLog10},
                  .series = std::move(series),
                  .marks = std::move(ridges),
                  .naming = Naming::kEndsWithValue}}};
}

Picture model_layer_picture() {
  const auto panel = [](std::int64_t hidden) -> Panel {
    const auto of = [&](const char* label, const char* format, const char* part) -> PictureSeries {
      return {label,
              {.id = std::string("gemm.model.") + format,
               .figure = "share",
               .where = {{"hidden", hidden}, {"part", part}}}};
    };
    return {.over = "tokens",
            .x = {.label = "M, tokens", .written = Written::kInteger, .scale = Scale::kLog2},
            .y = {.label = fmt::format("% of burst, hidden size {}", hidden),
                  .per = 0.01,
                  .low = 0,
                  .high = 105},
            .series = {of("BF16 layer", "bf16", "layer"), of("BF16 QKV", "bf16", "qkv"),
                       of("BF16 output", "bf16", "output"), of("BF16 up", "bf16", "up"),
                       of("BF16 down", "bf16", "down"), of("FP8 layer", "fp8", "layer")},
            .marks = {{.label = "BF16 sustained",
                       .figure = Numbers{.id = "gemm.model.bf16", .figure = "sustained_share"}}},
            .naming = Naming::kLegend};
  };
  return {.key = "model",
          .subject = "Transformer layer: its matrix products",
          .how =
              "Each line is one product of a layer over the tokens of a batch (M), or the four "
              "in a row; 100 % is the format's burst ceiling, the dashed line its sustained "
              "one. The card is warm here: a long series of products is closer to sustained "
              "than to burst.",
          .panels = {panel(kHidden[0]), panel(kHidden[1])}};
}

}  // namespace peakline::bench

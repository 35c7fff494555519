#include "bench/gemm/curves.hpp"
#include "bench/gemm/layer.hpp"
#include "bench/question.hpp"

namespace peakline::bench {
namespace {

// In catalogue order.
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
    for (const char* id : {"gemm.bf16", "gemm.fp8"})
      dots.series.push_back({"{}", {.id = id, .figure = figure}, "format"});
    return dots;
  };
  return {.key = "data",
          .subject = "Operand data: what the values themselves cost",
          .how =
              "Switching bits costs power, and a card at its power limit lowers its clock for it: "
              "data that toggle fewer bits run faster. Left the rate under sustained load against "
              "normally distributed data, right the power; dashed is the limit. The power control "
              "keeps to it on average over swings of about a second, and a point here is as short "
              "as one of them, so that its power may lie above the limit.",
          .panels = {panel("share_of_normal", "rate, % of normal data", 0.01,
                           {.label = "normal data", .value = 1.0}),
                     panel("power", "power, W", 1,
                           {.label = "the limit", .figure = Numbers{"gemm.bf16", "power_limit"}})}};
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
  return {
      .key = "variants",
      .subject = "Layouts and FP8: matrix products by variant, and with a cold cache",
      .how =
          "Each row is a format; 100 % is its burst, the best shape and layout, and for the other "
          "FP8 formats that of FP8. Layouts are named as cuBLASLt does, column-major; with a cold "
          "L2 the operands come from device memory. FP8 accurate does not use fast accumulation.",
      .panels = {std::move(panel)}};
}

Picture skinny_picture() {
  constexpr const char *kBf16 = "gemm.skinny.bf16", *kFp8 = "gemm.skinny.fp8";
  const auto ridge = [](const char* label, const char* id) -> Mark {
    return {.label = label, .upright = true, .figure = Numbers{id, "ridge_m"}};
  };
  return {
      .key = "skinny",
      .subject = "Few rows: from memory-bound to compute-bound",
      .how =
          "Products of M × 8192 × 8192. The rooflines are the intensity times the rate at which "
          "memory is read, up to the burst ceiling. Left of the bend another row is free, since "
          "the weights come "
          "from memory anyway: that is where a language model decodes. Below its roofline, the "
          "library loses time.",
      .panels = {{.over = "m",
                  .x = count_axis("M, rows"),
                  .y = {.label = "TFLOP/s", .per = 1e12, .scale = Scale::kLog10},
                  .series = {{"BF16", {kBf16}},
                             {"FP8", {kFp8}},
                             {"BF16 roofline", {kBf16, "roofline"}},
                             {"FP8 roofline", {kFp8, "roofline"}}},
                  .marks = {ridge("BF16 ridge", kBf16), ridge("FP8 ridge", kFp8)},
                  .naming = Naming::kEndsWithValue}}};
}

Picture model_layer_picture() {
  const auto panel = [](std::int64_t hidden) -> Panel {
    const auto of = [&](const char* label, const char* format, const char* part) -> PictureSeries {
      return {label,
              {.id = std::string("gemm.model.") + format,
               .figure = "share_per_clock",
               .where = {{"hidden", hidden}, {"part", part}}}};
    };
    return {.over = "tokens",
            .x = count_axis("M, tokens"),
            .y = percent_axis(fmt::format("% of burst per clock, hidden size {}", hidden), 105),
            .series = {of("BF16 layer", "bf16", "layer"), of("BF16 QKV", "bf16", "qkv"),
                       of("BF16 output", "bf16", "output"), of("BF16 up", "bf16", "up"),
                       of("BF16 down", "bf16", "down"), of("FP8 layer", "fp8", "layer")},
            .naming = Naming::kLegend};
  };
  return {.key = "model",
          .subject = "Transformer layer: its matrix products",
          .how =
              "Each line is one product of a layer over the tokens of a batch (M), or the four in "
              "a row; 100 % is the format's burst ceiling. Rates are per clock, since the clock "
              "falls with the time that a point takes: that of a whole layer is lower than those "
              "of its parts. What layers reach per second under load is the ceiling model-shaped.",
          .panels = {panel(kHidden[0]), panel(kHidden[1])}};
}

}  // namespace peakline::bench

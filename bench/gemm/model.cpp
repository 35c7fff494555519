// What do the matrix products of a transformer layer reach? tokens = batch x sequence.

#include "bench/gemm/curves.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/gemm/layer.hpp"
#include "bench/gemm/shapes.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/load_points.hpp"

namespace peakline::bench {

void gemm_model(CudaBench& bench, std::string_view format);

namespace {

constexpr const char* kTopic = "model layer";

enum class Curve { kNone, kLayers, kLayersAndParts };

std::vector<Point> model_points(Curve curve) {
  std::vector<Point> points;
  for (Point& point : load_points(kShortLoadSeconds)) {
    point.quick = false;
    // A share of choosing algorithms, and filling the operands.
    point.seconds =
        point.timing == Timing::kBurst ? 1.5 : seconds_of_sustained_point(point.load_s) + 0.4;
    points.push_back(std::move(point));
  }
  if (curve == Curve::kNone) return points;
  const auto add = [&](std::vector<ParamValue> tokens, std::vector<ParamValue> parts) {
    std::ranges::move(points_over({{"hidden", values_of(kHidden)},
                                   {"tokens", std::move(tokens)},
                                   {"part", std::move(parts)}},
                                  kWarm),
                      std::back_inserter(points));
  };
  add(values_of(kTokens), {"layer"});
  if (curve == Curve::kLayersAndParts) {
    std::vector<ParamValue> parts;
    for (const LayerPart& part : kLayer) parts.emplace_back(part.name);
    add({1, kCeilingTokens}, std::move(parts));  // one token: for estimates of decoding
  }
  return points;
}

std::string ceiling_note(const Measurement&) {
  return fmt::format("a layer each of hidden size {}, {} tokens: all FLOPs over the time of all",
                     fmt::join(kHidden, " and "), kCeilingTokens);
}

void summarize_model_layer(const std::string& format, const CurveView& curve, Figures& figures) {
  for (const Measurement* m : curve.points) {
    const auto part = text_param(m->params, "part");
    const auto hidden = int_param(m->params, "hidden"), tokens = int_param(m->params, "tokens");
    const auto share = share_of_burst(*m, curve, format);
    if (!share || !part || !hidden || !tokens) continue;
    if (*part == "layer")
      figures.add("layer_share", *share,
                  {{"format", format}, {"hidden", *hidden}, {"tokens", *tokens}});
    else
      figures.add("share_per_clock", *share,
                  {{"format", format}, {"part", *part}, {"hidden", *hidden}, {"tokens", *tokens}});
  }
}

CurveRule model_layer(const std::string& format) {
  return rule_of_format(
      kTopic, format,
      {{"share_per_clock", unit::kShare, {"format", "part", "hidden", "tokens"}},
       {"layer_share", unit::kShare, {"format", "hidden", "tokens"}, role::kShareOfTokens}},
      summarize_model_layer);
}

std::string model_layer_title(const TitleView& view) {
  // Figures of BF16 if it was measured, at the most tokens: one per hidden size.
  std::vector<const Figure*> layers;
  const auto rank = [](const Figure& f) {
    return std::pair(text_param(f.by, "format") == "bf16", *int_param(f.by, "tokens"));
  };
  for (const Figure* share : view.all({.name = "layer_share"})) {
    if (!layers.empty() && rank(*share) > rank(*layers[0])) layers.clear();
    if (layers.empty() || rank(*share) == rank(*layers[0])) layers.push_back(share);
  }
  std::ranges::sort(layers, {}, [](const Figure* f) { return *int_param(f->by, "hidden"); });
  std::vector<std::string> shares;
  for (const Figure* share : layers)
    shares.push_back(fmt::format("{} (hidden size {})", format_percent(share->value),
                                 *int_param(share->by, "hidden")));
  return fmt::format("At {} tokens {} layers keep {} of the burst rate at equal clock",
                     *int_param(layers[0]->by, "tokens"),
                     format_label(*text_param(layers[0]->by, "format")),
                     fmt::join(shares, " and "));
}

Picture model_layer_picture() {
  const auto panel = [](std::int64_t hidden) -> Panel {
    const auto layer = [&](const char* label, const char* format) -> PictureSeries {
      return {label,
              {.id = std::string("gemm.model.") + format,
               .figure = "layer_share",
               .where = {{"hidden", hidden}}}};
    };
    const auto of_part = [&](const char* label, const char* part) -> PictureSeries {
      return {label,
              {.id = "gemm.model.bf16",
               .figure = "share_per_clock",
               .where = {{"hidden", hidden}, {"part", part}}}};
    };
    return {
        .over = "tokens",
        .x = count_axis("M, tokens"),
        .y = percent_axis(fmt::format("% of burst at equal clock, hidden size {}", hidden), 105),
        .series = {layer("BF16 layer", "bf16"), of_part("BF16 QKV", "qkv"),
                   of_part("BF16 output", "output"), of_part("BF16 up", "up"),
                   of_part("BF16 down", "down"), layer("FP8 layer", "fp8")},
        .naming = Naming::kLegend};
  };
  return {.key = "model",
          .subject = "Transformer layer: its matrix products",
          .how =
              "A layer's four products in a row, for so many tokens in a batch (M), and one by one "
              "for 1 and 1024 tokens; 100 % is the format's burst. Rates are per clock, since the "
              "clock falls with the time that a point takes: that of a whole layer is lower than "
              "those of its parts. What layers reach per second under load is the peak named "
              "model.",
          .panels = {panel(kHidden[0]), panel(kHidden[1])}};
}

}  // namespace

void register_gemm_model(Registry& registry) {
  const auto add = [&](const char* format, Curve curve, std::vector<Topic> topics = {}) {
    add_sweep(
        registry,
        {.area = "model",
         .format = format,
         .what = "Throughput of the products of a transformer layer, one by one and in a row",
         .run = on_gpu([format](auto& bench) { gemm_model(bench, format); }),
         .points = model_points(curve),
         .curves = {model_layer(format), sustained_load_curve(format_label(format) + " layers")},
         .ceilings = load_ceilings_of(product_format(format), Basis::kModelBurst,
                                      Basis::kModelShaped, ceiling_note),
         .topics = std::move(topics),
         .method_version = 3});
  };
  add("bf16", Curve::kLayersAndParts, {{kTopic, model_layer_title, model_layer_picture()}});
  add("fp8", Curve::kLayers);
  add("int8", Curve::kNone);
  add("mxfp8", Curve::kNone);
  add("nvfp4", Curve::kNone);
}

}  // namespace peakline::bench

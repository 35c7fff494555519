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

enum class Curve { kNone, kLayers, kLayersAndParts };

std::vector<Point> model_points(Curve curve) {
  std::vector<Point> points;
  for (Point& point : load_points()) {
    point.quick = false;
    // A share of choosing algorithms, and filling the operands.
    point.seconds =
        point.rule == Rule::kBurst ? 1.5 : seconds_of_sustained_point(point.load_s) + 0.4;
    points.push_back(std::move(point));
  }
  if (curve == Curve::kNone) return points;
  std::vector<ParamValue> parts;
  if (curve == Curve::kLayersAndParts)
    for (const LayerPart& part : kLayer) parts.emplace_back(part.name);
  parts.emplace_back("layer");
  const auto layers = points_over(
      {{"hidden", values_of(kHidden)}, {"tokens", values_of(kTokens)}, {"part", parts}}, kWarm);
  points.insert(points.end(), layers.begin(), layers.end());
  return points;
}

std::string ceiling_note(const Measurement&) {
  return fmt::format("a layer each of hidden size {}, {} tokens: all FLOPs over the time of all",
                     fmt::join(kHidden, " and "), kCeilingTokens);
}

}  // namespace

void register_gemm_model(Registry& registry) {
  const auto add = [&](const char* format, Curve curve, std::vector<Topic> topics = {}) {
    add_sweep(registry,
              {.area = "model",
               .format = format,
               .what = "Throughput of the products of a transformer layer, one by one and in a row",
               .run = on_gpu([format](auto& bench) { gemm_model(bench, format); }),
               .points = model_points(curve),
               .curves = {model_layer_curve(format),
                          sustained_load_curve(format_label(format) + " layers")},
               .ceilings = load_ceilings_of(product_format(format), Basis::kModelBurst,
                                            Basis::kModelShaped, ceiling_note),
               .topics = std::move(topics),
               .method_version = 3});
  };
  add("bf16", Curve::kLayersAndParts, {{kModelLayer, model_layer_title, model_layer_picture()}});
  add("fp8", Curve::kLayers);
  add("int8", Curve::kNone);
  add("mxfp8", Curve::kNone);
  add("nvfp4", Curve::kNone);
}

}  // namespace peakline::bench

// What do the matrix products of a transformer layer reach? tokens = batch x sequence.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/gemm/curves.hpp"
#include "bench/gemm/formats.hpp"
#include "bench/gemm/layer.hpp"
#include "bench/gemm/shapes.hpp"
#include "harness/benchmark/load_points.hpp"

namespace peakline::bench {

void gemm_model(CudaBench& bench, std::string_view format);

namespace {

enum class Curve { kNone, kLayers, kLayersAndParts };

std::vector<Point> model_points(Curve curve) {
  std::vector<Point> points;
  for (Point& point : load_points()) {
    point.quick = false;
    // Its share of choosing algorithms and filling the operands.
    point.seconds =
        point.rule == Rule::kBurst ? 1.5 : seconds_of_sustained_point(point.load_s) + 0.4;
    points.push_back(std::move(point));
  }
  if (curve == Curve::kNone) return points;
  for (const std::int64_t hidden : kHidden)
    for (const std::int64_t tokens : kTokens) {
      const auto add = [&](const char* part) {
        points.push_back(
            warm_point({{"hidden", hidden}, {"tokens", tokens}, {"part", std::string(part)}}));
      };
      if (curve == Curve::kLayersAndParts)
        for (const LayerPart& part : kLayer) add(part.name);
      add("layer");
    }
  return points;
}

std::string ceiling_note(const Measurement&) {
  return fmt::format("a layer each of hidden size {}, {} tokens: all FLOPs over the time of all",
                     fmt::join(kHidden, " and "), kCeilingTokens);
}

}  // namespace

void register_gemm_model(Registry& registry) {
  const auto add = [&](const char* format, Curve curve) {
    add_sweep(
        registry,
        {.area = "model",
         .format = format,
         .what = "Throughput of the products of a transformer layer, one by one and in a row",
         .run = on_gpu([format](auto& bench) { gemm_model(bench, format); }),
         .points = model_points(curve),
         .curve = model_layer_curve(format),
         .ceilings = load_ceilings_of(product_format(format), Basis::kModelBurst,
                                      Basis::kModelShaped, ceiling_note),
         .topics = curve == Curve::kLayersAndParts
                       ? std::vector<Topic>{{kModelLayer, model_layer_title, model_layer_picture()}}
                       : std::vector<Topic>{},
         .method_version = 3});
  };
  add("bf16", Curve::kLayersAndParts);
  add("fp8", Curve::kLayers);
  add("int8", Curve::kNone);
}

}  // namespace peakline::bench

// What does changing a layout cost: transposing matrices, channels first to channels last?

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

void layout_transpose(CudaBench& bench);

namespace {

constexpr const char* kTopic = "changing layouts";

struct Shape {
  const char* name;
  const char* label;
  std::int64_t batch, rows, columns;  // of each matrix; channels first: a row per channel
};
// Many times an L2, and long compared with launch overhead.
constexpr std::int64_t kSide = 16384, kLong = 1 << 23, kShort = 64;
constexpr std::int64_t kImages = 256, kChannels = 256, kPixels = 56 * 56;
constexpr std::array kShapes = {
    Shape{"square", "square", 1, kSide, kSide},
    Shape{"tall", "8 M × 64", 1, kLong, kShort},
    Shape{"wide", "64 × 8 M", 1, kShort, kLong},
    Shape{"nchw_to_nhwc", "NCHW to NHWC", kImages, kChannels, kPixels},
    Shape{"nhwc_to_nchw", "NHWC to NCHW", kImages, kPixels, kChannels},
};

void summarize(const CurveView& curve, Figures& figures) {
  const auto copy = curve.ceiling("hbm.copy", Basis::kMeasured);
  if (!copy) return;
  for (const std::int64_t element : {2, 4})
    for (const Shape& shape : kShapes)
      for (const Measurement* m : curve.points)
        if (int_param(m->params, "element") == element &&
            text_param(m->params, "shape") == shape.name)
          figures.add("share_of_copy", *m->value / *copy,
                      {{"element", element}, {"shape", shape.name}});
}

std::string title(const TitleView& view) {
  const auto share = [&](const char* shape) {
    return format_percent(view.value(
        {.name = "share_of_copy", .by = {{"element", std::int64_t{2}}, {"shape", shape}}}));
  };
  return fmt::format(
      "With 2-byte elements a transposition runs at {} of a copy, NCHW to NHWC at {}",
      share("square"), share("nchw_to_nhwc"));
}

Picture picture() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Shape& shape : kShapes) names.emplace_back(shape.name, shape.label);
  return {.key = "layout",
          .subject = "Layouts: what transposing costs",
          .how =
              "Each element is read once and written once; 100 % is a copy of device memory, "
              "which moves as many bytes in order.",
          .panels = {{.kind = PanelKind::kBars,
                      .over = "shape",
                      .x = {.label = "% of the rate of a copy", .per = 0.01, .low = 0},
                      .series = {{"{}-byte elements",
                                  {.id = "layout.transpose", .figure = "share_of_copy"},
                                  "element"}},
                      .marks = {{.label = "copy", .value = 1.0}},
                      .names = std::move(names)}}};
}

std::vector<Point> points() {
  std::vector<Point> points;
  for (const std::int64_t element : {2, 4})
    for (const Shape& shape : kShapes)
      points.push_back({.params = {{"element", element},
                                   {"shape", shape.name},
                                   {"batch", shape.batch},
                                   {"rows", shape.rows},
                                   {"columns", shape.columns}},
                        .seconds = 0.15});
  return points;
}

}  // namespace

void register_layout(Registry& registry) {
  registry.add(
      {.id = "layout.transpose",
       .what = "Bandwidth of transposing matrices in device memory, by element and shape",
       .work = "bytes read plus bytes written",
       .quantity = Quantity::kByteRate,
       .limit = device_memory_bandwidth(),
       .curves = {{kTopic, {{"share_of_copy", unit::kShare, {"element", "shape"}}}, summarize}},
       .topics = {{kTopic, title, picture()}},
       .points = points()},
      on_gpu([](auto& bench) { layout_transpose(bench); }));
}

}  // namespace peakline::bench

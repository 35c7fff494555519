// How fast is memory updated in place, x += 1, by the size of an element?

#include "bench/question.hpp"

namespace peakline::bench {

void hbm_update(CudaBench& bench);

namespace {

constexpr const char* kTopic = "updates in place";

void summarize(const CurveView& curve, Figures& figures) {
  const auto copy = curve.ceiling("hbm.copy", Basis::kMeasured);
  const auto points = sweep(curve, "element");
  if (!copy || points.empty()) return;
  for (const CurvePoint& point : points)
    figures.add("share_of_copy", point.value() / *copy, {{"element", std::llround(point.x)}});
  figures.add("rate", std::ranges::max(points, {}, &CurvePoint::value).value());
}

std::string title(const TitleView& view) {
  const Figure& least = view.least({.name = "share_of_copy"});
  return fmt::format("Updates in place reach {}, with elements of {} {} of a copy",
                     view.text({.name = "rate"}),
                     format_size(static_cast<double>(*int_param(least.by, "element"))),
                     format_percent(least.value));
}

Picture picture() {
  return {.key = "update",
          .subject = "Updates in place: by the size of an element",
          .how =
              "Each element is read, increased and written back by one thread, as optimizers do; "
              "100 % is a copy of device memory, which moves as many bytes from one array to "
              "another with 16 bytes per thread. Small elements keep fewer bytes in flight.",
          .panels = {{.over = "element",
                      .x = size_axis("size of an element"),
                      .y = percent_axis("% of the rate of a copy", 110),
                      .series = {{"in place", {.id = "hbm.update", .figure = "share_of_copy"}}},
                      .marks = {{.label = "copy", .value = 1.0}},
                      .naming = Naming::kEndsWithValue}}};
}

}  // namespace

void register_update(Registry& registry) {
  registry.add({.id = "hbm.update",
                .what = "Device memory bandwidth of x += 1 in place, by the size of an element",
                .work = "bytes read plus bytes written",
                .quantity = Quantity::kByteRate,
                .limit = device_memory_bandwidth(),
                .curves = {{kTopic,
                            {{"share_of_copy", unit::kShare, {"element"}}, {"rate", "B/s"}},
                            summarize}},
                .topics = {{kTopic, title, picture()}},
                .points = points_over("element", {1, 2, 4, 8, 16}, {.seconds = 0.25})},
               on_gpu([](auto& bench) { hbm_update(bench); }));
}

}  // namespace peakline::bench

#include <algorithm>
#include <cmath>

#include "harness/conclude/curves.hpp"

namespace peakline {
namespace {

double intensity_of(const CurvePoint& point) { return point.m->work.flops / point.m->work.bytes(); }

// nullptr if no point has an intensity.
const CurvePoint* nearest_to(double knee, const std::vector<CurvePoint>& points) {
  const auto distance = [&](const CurvePoint& p) {
    return std::abs(std::log(intensity_of(p) / knee));
  };
  const CurvePoint* nearest = nullptr;
  for (const CurvePoint& point : points) {
    if (point.m->work.flops <= 0 || point.m->work.bytes() <= 0) continue;
    if (nearest == nullptr || distance(point) < distance(*nearest)) nearest = &point;
  }
  return nearest;
}

}  // namespace

CurveRule slowdown_curve(std::string topic, const std::string& param) {
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, param);
    if (points.size() < 2 || points.front().x != 1) return;
    for (const CurvePoint& point : points)
      figures.add("slowdown", points.front().value() / point.value(),
                  {{param, std::llround(point.x)}});
  };
  return {std::move(topic), {{"slowdown", unit::kFactor, {param}}}, summarize};
}

CurveRule thread_curve(std::string topic, Quantity quantity) {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, "threads");
    if (points.size() < 2 || points.front().x != 1) return;
    const double one = points.front().value();
    figures.add("one_thread", one);
    figures.add("speedup", std::ranges::max(points, {}, &CurvePoint::value).value() / one);
  };
  return {std::move(topic),
          {{"one_thread", std::string(unit_of(quantity))}, {"speedup", unit::kFactor}},
          summarize};
}

CurveRule knee_curve(std::string topic) {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, "fma_per_element");
    double roof = 0, slope = 0;
    for (const auto& [x, m] : points) {
      roof = std::max(roof, *m->value);
      slope = std::max(slope, m->work.bytes() / m->summary->median);
    }
    if (points.size() < 3 || roof <= 0 || slope <= 0) return;
    // The measured bend: highest rate over highest bandwidth.
    const double knee = roof / slope;
    const CurvePoint* nearest = nearest_to(knee, points);
    if (nearest == nullptr) return;
    figures.add("bandwidth", slope);
    figures.add("roof", roof);
    figures.add("knee", knee);
    figures.add("share_at_knee", nearest->value() / std::min(roof, slope * intensity_of(*nearest)));
  };
  return {std::move(topic),
          {{"bandwidth", "B/s"},
           {"roof", "FLOP/s"},
           {"knee", "FLOP/B"},
           {"share_at_knee", unit::kShare}},
          summarize};
}

}  // namespace peakline

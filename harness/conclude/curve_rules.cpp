#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/conclude/curves.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

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

CurveRule slowdown_curve(std::string topic, const std::string& param, const std::string& text) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, param);
    if (points.size() < 2 || points.front().x != 1) return;
    double factor = 1;
    for (const CurvePoint& point : points) {
      factor = points.front().value() / point.value();
      sentence.figure("slowdown", factor, {{param, std::llround(point.x)}});
    }
    sentence.add(fmt::format(fmt::runtime(text), fmt::format("{:.0f}", points.back().x),
                             format_number(factor)));
  };
  return {std::move(topic), {{"slowdown", "1", {param}}}, summarize};
}

CurveRule thread_curve(std::string topic, const std::string& label, Quantity quantity) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "threads");
    if (points.size() < 2 || points.front().x != 1) return;
    const CurvePoint& best = std::ranges::max(points, {}, &CurvePoint::value);
    const Measurement& one = *points.front().m;
    const std::string alone =
        fmt::format("{}: {} with 1 thread", label, format_value(*one.value, one.unit));
    const double gain = best.value() / *one.value;
    constexpr double kNoGain = 1.01;
    sentence.add(gain < kNoGain ? alone + ", no more with several"
                                : fmt::format("{}, {} x as much with {:.0f}", alone,
                                              format_number(gain), best.x));
    sentence.figure("one_thread", *one.value);
    sentence.figure("speedup", best.value() / *one.value);
  };
  return {std::move(topic),
          {{"one_thread", std::string(unit_of(quantity))}, {"speedup", "1"}},
          summarize};
}

CurveRule knee_curve(std::string topic, const std::string& precision) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
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
    const double share = nearest->value() / std::min(roof, slope * intensity_of(*nearest));
    sentence.add(
        fmt::format("{} sweep: {}, then {} from {} FLOP/byte; {} of its own roof at the bend",
                    upper(precision), format_rate(slope, "B/s"), format_rate(roof, "FLOP/s"),
                    format_number(knee), format_percent(share)));
    sentence.figure("bandwidth", slope);
    sentence.figure("roof", roof);
    sentence.figure("knee", knee);
    sentence.figure("share_at_knee", share);
  };
  return {std::move(topic),
          {{"bandwidth", "B/s"}, {"roof", "FLOP/s"}, {"knee", "FLOP/B"}, {"share_at_knee", "1"}},
          summarize};
}

}  // namespace peakline

#include "bench/question.hpp"

#include "harness/statistics/power_control.hpp"

namespace peakline::bench {
namespace {

void summarize_sustained_load(const std::string& of, const CurveView& curve, Figures& figures) {
  const Measurement* m = single(curve, {{"load", "sustained"}});
  const auto course = m == nullptr ? std::nullopt : load_course(m->series.time_s, m->series.rate);
  if (!course) return;
  const Params by = {{"of", of}};
  figures.add("rate_swing", course->swing, by);
  if (m->flags.unstable)
    figures.add("not_settled_after", m->series.time_s.back(), by);
  else
    figures.add("settled_after", course->settled_s, by);
}

}  // namespace

CurveRule sustained_load_curve(std::string of) {
  return {kSustainedLoad,
          {{"settled_after", "s", {"of"}},
           {"not_settled_after", "s", {"of"}},
           {"rate_swing", unit::kShare, {"of"}}},
          [of = std::move(of)](const CurveView& curve, Figures& figures) {
            summarize_sustained_load(of, curve, figures);
          }};
}

std::vector<std::string> values_in(const CurveView& curve, std::string_view param) {
  std::vector<std::string> values;
  for (const Measurement* m : curve.points) {
    const auto value = text_param(m->params, param);
    if (value && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  }
  return values;
}

CurveRule waits_curve(std::string topic, const std::string& param) {
  std::vector<FigureKind> kinds = {{"time", "s"}, {"cycles", "cycles"}};
  if (!param.empty())
    for (FigureKind& kind : kinds) kind.by = {param};
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    for (const Measurement* m : curve.points) {
      Params by;
      if (const ParamValue* value = find_param(m->params, param)) by = {{param, *value}};
      figures.add("time", *m->value, by);
      const auto& clock_hz = m->conditions.sm_clock_hz;
      if (clock_hz && m->conditions.sm_clock_source == ClockSource::kKernel)
        figures.add("cycles", *m->value * *clock_hz, by);
    }
  };
  return {std::move(topic), std::move(kinds), summarize};
}

std::vector<Point> points_over(const std::vector<Swept>& params, const Point& like) {
  std::vector<Point> points = {like};
  for (const auto& [param, values] : params) {
    std::vector<Point> longer;
    for (const Point& point : points)
      for (const ParamValue& value : values)
        longer.emplace_back(point).params.emplace_back(param, value);
    points = std::move(longer);
  }
  return points;
}

std::optional<double> amount_for(std::span<const Amount> points, double wanted) {
  std::map<double, double> fastest;  // by amount
  for (const Amount& point : points) {
    double& rate = fastest[point.amount];
    rate = std::max(rate, point.rate);
  }
  std::optional<Amount> before;
  for (const auto& [amount, rate] : fastest) {
    if (rate < wanted) {
      before = {amount, rate};
      continue;
    }
    if (!before) return std::nullopt;
    return before->amount +
           (amount - before->amount) * (wanted - before->rate) / (rate - before->rate);
  }
  return std::nullopt;
}

std::vector<ParamValue> multiples(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<ParamValue> values;
  for (std::int64_t value = first; value <= last; value *= factor) values.emplace_back(value);
  return values;
}

}  // namespace peakline::bench

#include "bench/question.hpp"

#include "harness/statistics/power_control.hpp"

namespace peakline::bench {
namespace {

void summarize_sustained_load(const std::string& of, const CurveView& curve, Sentence& sentence) {
  constexpr double kSteady = 0.01;
  const Measurement* m = single(curve, {{"load", "sustained"}});
  const auto course = m == nullptr ? std::nullopt : load_course(m->series.time_s, m->series.rate);
  if (!course) return;
  const Params by = {{"of", of}};
  sentence.figure("swing", course->swing, by);
  std::string text;
  if (m->flags.unstable) {
    text = fmt::format("{} not settled after {:.0f} s", of, m->series.time_s.back());
  } else {
    sentence.figure("settled_after", course->settled_s, by);
    const int digits = course->settled_s < 1 ? 1 : 2;
    text = course->settled_s > m->series.time_s.front()
               ? fmt::format("{} settled after {:.{}g} s", of, course->settled_s, digits)
               : fmt::format("{} settled at once", of);
  }
  sentence.add(text + (course->swing < kSteady
                           ? ", steady"
                           : fmt::format(", swinging by {:.0f} %", course->swing * 100)));
}

}  // namespace

CurveRule sustained_load_curve(std::string of) {
  return {kSustainedLoad,
          {{"settled_after", "s", {"of"}}, {"swing", "1", {"of"}}},
          [of = std::move(of)](const CurveView& curve, Sentence& sentence) {
            summarize_sustained_load(of, curve, sentence);
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

CurveRule waits_curve(std::string topic, const std::string& label, const std::string& param) {
  std::vector<FigureKind> kinds = {{"time", "s"}, {"cycles", "cycles"}};
  if (!param.empty())
    for (FigureKind& kind : kinds) kind.by = {param};
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    for (const Measurement* m : curve.points) {
      std::string part;
      Params by;
      if (const ParamValue* value = find_param(m->params, param)) {
        const bool counts = std::holds_alternative<std::int64_t>(*value);
        by = {{param, *value}};
        part = to_string(*value) + (counts ? " " + param : "") + " ";
        std::ranges::replace(part, '_', ' ');
      }
      part += format_time(*m->value);
      sentence.figure("time", *m->value, by);
      const auto& clock_hz = m->conditions.sm_clock_hz;
      if (clock_hz && m->conditions.sm_clock_source == ClockSource::kKernel) {
        const double cycles = *m->value * *clock_hz;
        part += fmt::format(" ({:.0f} cycles)", cycles);
        sentence.figure("cycles", cycles, by);
      }
      parts.push_back(std::move(part));
    }
    sentence.add(label, parts);
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

std::vector<ParamValue> multiples(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<ParamValue> values;
  for (std::int64_t value = first; value <= last; value *= factor) values.emplace_back(value);
  return values;
}

}  // namespace peakline::bench

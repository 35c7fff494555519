#include "harness/conclude/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/values/device_view.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {
namespace {

// What one device's benchmarks summarize, topics in the order in which they come.
class Topics {
 public:
  Sentence& of(const std::string& topic) {
    const auto found = std::ranges::find(topics_, topic, &std::pair<std::string, Sentence>::first);
    return found != topics_.end() ? found->second : topics_.emplace_back(topic, Sentence{}).second;
  }
  void finish(const std::string& device, std::vector<Curve>& curves) {
    for (auto& [topic, sentence] : topics_) {
      if (sentence.pieces.empty()) continue;
      curves.push_back({.device = device,
                        .topic = topic,
                        .text = fmt::format("{}", fmt::join(sentence.pieces, "; ")),
                        .values = std::move(sentence.values)});
    }
  }

 private:
  std::vector<std::pair<std::string, Sentence>> topics_;
};

void append_device(const DeviceView& device, Benchmarks benchmarks, std::vector<Curve>& curves) {
  std::map<std::string_view, std::vector<const Measurement*>> by_id;
  for (const Measurement* m : device.measurements)
    if (sound(*m)) by_id[m->id].push_back(m);
  const auto ceiling = [&](std::string_view resource, Basis basis) -> std::optional<double> {
    const Ceiling* row = find_ceiling(device.profile->ceilings, device.name(), resource, basis);
    if (row == nullptr) return std::nullopt;
    return row->value;
  };
  const auto measurement = [&](std::string_view name) -> const Measurement* {
    const auto found = device.by_name.find(std::string(name));
    return found != device.by_name.end() && sound(*found->second) ? found->second : nullptr;
  };
  Topics topics;
  for (const Benchmark& benchmark : benchmarks) {
    const auto found = by_id.find(benchmark.id);
    if (found == by_id.end()) continue;
    const CurveView points{.device = device.facts,
                           .points = found->second,
                           .ceiling = ceiling,
                           .measurement = measurement,
                           .profile = device.profile};
    for (const CurveRule& rule : benchmark.curves) rule.summarize(points, topics.of(rule.topic));
  }
  topics.finish(std::string(device.name()), curves);
}

}  // namespace

std::vector<Curve> derive_curves(const Profile& profile, Benchmarks benchmarks) {
  std::vector<Curve> curves;
  for (const DeviceView& device : device_views(profile)) append_device(device, benchmarks, curves);
  return curves;
}

std::vector<CurvePoint> sweep(const CurveView& curve, std::string_view param) {
  std::vector<CurvePoint> points;
  for (const Measurement* m : curve.points)
    if (const auto x = int_param(m->params, param)) points.push_back({static_cast<double>(*x), m});
  std::ranges::stable_sort(points, {}, &CurvePoint::x);
  return points;
}

std::vector<CurvePoint> sweep_where(const CurveView& curve, std::string_view param,
                                    std::string_view other, const ParamValue& value) {
  auto points = sweep(curve, param);
  std::erase_if(points, [&](const CurvePoint& p) {
    const ParamValue* found = find_param(p.m->params, other);
    return found == nullptr || *found != value;
  });
  return points;
}

const Measurement* single(const CurveView& curve, const Params& params) {
  const auto found = std::ranges::find(curve.points, params, &Measurement::params);
  return found == curve.points.end() ? nullptr : *found;
}

std::optional<double> share_per_clock(const Measurement& m, const Measurement& of) {
  const auto& clock = m.conditions.sm_clock_hz;
  const auto& of_clock = of.conditions.sm_clock_hz;
  if (!clock || !of_clock || *clock <= 0 || *of_clock <= 0) return std::nullopt;
  return (*m.value / *clock) / (*of.value / *of_clock);
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

}  // namespace peakline

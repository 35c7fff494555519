#include "harness/conclude/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>

#include "harness/values/device_view.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// A device's topics in order of appearance.
class Topics {
 public:
  // broken: of derive_curves.
  explicit Topics(std::vector<BrokenTopic>* broken) : broken_(broken) {}

  void add(const Benchmark& benchmark, const CurveRule& rule, const CurveView& points) {
    Said& said = of(rule.topic);
    Figures figures(benchmark.id, rule.figures);
    guarded(said, benchmark.id, [&] { rule.summarize(points, figures); });
    said.curve.figures.insert(said.curve.figures.end(), figures.all().begin(), figures.all().end());
  }
  void declare(const Topic& topic) { of(topic.name).topic = &topic; }

  void finish(const DeviceView& device, std::vector<Curve>& curves) {
    for (Said& said : topics_) {
      Curve& curve = said.curve;
      curve.device = device.name();
      if (const Topic* topic = said.topic; topic != nullptr && said.why_broken.empty()) {
        guarded(said, "its title", [&] { curve.title = title_of(*topic, device, curve); });
        if (has_numbers(topic->picture, device)) curve.picture = topic->picture;
      }
      if (!said.why_broken.empty())
        broken_->push_back({curve.device, curve.topic, std::move(said.why_broken)});
      else if (!curve.title.empty() || !curve.figures.empty() || curve.picture)
        curves.push_back(std::move(curve));
    }
  }

 private:
  struct Said {
    Curve curve;
    const Topic* topic = nullptr;
    std::string why_broken;  // the first reason; empty: none
  };

  // Calls a registration's code; an exception costs the topic, or is rethrown without `broken`.
  template <class Call>
  void guarded(Said& said, std::string_view whose, Call call) const {
    try {
      call();
    } catch (const std::exception& error) {
      if (broken_ == nullptr) throw;
      if (said.why_broken.empty()) said.why_broken = fmt::format("{}: {}", whose, error.what());
    }
  }

  Said& of(const std::string& topic) {
    const auto found =
        std::ranges::find_if(topics_, [&](const Said& said) { return said.curve.topic == topic; });
    if (found != topics_.end()) return *found;
    Said& said = topics_.emplace_back();
    said.curve.topic = topic;
    return said;
  }

  static bool has_numbers(const std::optional<Picture>& picture, const DeviceView& device) {
    return picture && std::ranges::any_of(picture->panels, [&](const Panel& panel) {
             return std::ranges::any_of(panel.series, [&](const PictureSeries& series) {
               return std::ranges::any_of(device.measurements, [&](const Measurement* m) {
                 return m->id == series.numbers.id && sound(*m);
               });
             });
           });
  }

  static std::string title_of(const Topic& topic, const DeviceView& device, const Curve& curve) {
    if (!topic.title) return {};
    // The answer says what others did meanwhile.
    const bool shared = std::ranges::any_of(device.profile->devices, [&](const DeviceFacts& gpu) {
      return (device.is_node() || gpu.uuid == device.name()) && !other_users(gpu).empty();
    });
    try {
      std::string title = topic.title({.profile = *device.profile,
                                       .device = device.name(),
                                       .facts = device.facts,
                                       .view = device,
                                       .figures = curve.figures});
      return title.empty() || !shared ? title : title + "; other processes used the GPU meanwhile";
    } catch (const Missing&) {
      return {};
    }
  }

  std::vector<BrokenTopic>* broken_;
  std::vector<Said> topics_;
};

void append_device(const DeviceView& device, Benchmarks benchmarks, std::vector<Curve>& curves,
                   std::vector<BrokenTopic>* broken) {
  std::map<std::string_view, std::vector<const Measurement*>> by_id;
  for (const Measurement* m : device.measurements)
    if (sound(*m)) by_id[m->id].push_back(m);
  Topics topics(broken);
  for (const Benchmark& benchmark : benchmarks) {
    for (const Topic& topic : benchmark.topics) topics.declare(topic);
    const auto found = by_id.find(benchmark.id);
    if (found == by_id.end()) continue;
    const CurveView points{.device = device.facts,
                           .points = found->second,
                           .profile = device.profile,
                           .view = &device};
    for (const CurveRule& rule : benchmark.curves) topics.add(benchmark, rule, points);
  }
  topics.finish(device, curves);
}

}  // namespace

std::vector<Curve> derive_curves(const Profile& profile, Benchmarks benchmarks,
                                 std::vector<BrokenTopic>* broken) {
  std::vector<Curve> curves;
  for (const DeviceView& device : device_views(profile))
    append_device(device, benchmarks, curves, broken);
  return curves;
}

void use_own_numbers(Profile& profile, Benchmarks benchmarks) {
  for (Curve& curve : profile.curves)
    for (Figure& figure : curve.figures) {
      const Benchmark* benchmark = find_benchmark(benchmarks, figure.id);
      if (benchmark == nullptr || figure.unit != "1" || figure.number) continue;
      for (const CurveRule& rule : benchmark->curves)
        for (const FigureKind& kind : rule.figures)
          if (rule.topic == curve.topic && kind.name == figure.name)
            figure.number = kind.unit.number;
    }
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

}  // namespace peakline

#include "harness/conclude/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/values/device_view.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Short memory shrinks a footprint below its parameter; losing part of a granule does not count.
constexpr double kWholeFootprint = 0.999;

const Measurement* sound_measurement(const DeviceView& device, std::string_view name) {
  const Measurement* found = device.measurement(name);
  return found != nullptr && sound(*found) ? found : nullptr;
}

}  // namespace

std::optional<double> CurveView::ceiling(std::string_view resource, Basis basis) const {
  const Ceiling* row = view == nullptr ? nullptr : view->ceiling(resource, basis);
  return row == nullptr ? std::nullopt : std::optional(row->value);
}

const Measurement* CurveView::measurement(std::string_view name) const {
  return view == nullptr ? nullptr : sound_measurement(*view, name);
}

void Figures::add(std::string_view name, double value, Params by) {
  const auto same_names = [&](const FigureKind& kind) {
    return std::ranges::equal(kind.by, by, {}, {}, &Params::value_type::first);
  };
  const auto kind = std::ranges::find_if(
      kinds_, [&](const FigureKind& k) { return k.name == name && same_names(k); });
  if (kind == kinds_.end())
    throw std::logic_error("the rule yields the figure " + point_name(name, by) +
                           ", which it does not declare");
  all_.push_back({.id = std::string(of_),
                  .name = kind->name,
                  .by = std::move(by),
                  .value = value,
                  .unit = kind->unit.name,
                  .role = kind->role,
                  .number = kind->unit.number});
}

const Measurement* TitleView::measurement(std::string_view name) const {
  return sound_measurement(view, name);
}

const Figure& TitleView::figure(const FigureQuery& query) const {
  const Figure* found = find(query);
  if (found == nullptr) throw Missing();
  return *found;
}

std::vector<const Figure*> TitleView::all(const FigureQuery& query) const {
  std::vector<const Figure*> found;
  for (const Figure& figure : figures)
    if (query(figure)) found.push_back(&figure);
  if (found.empty()) throw Missing();
  return found;
}

std::string TitleView::text(const FigureQuery& query) const {
  const Figure& found = figure(query);
  return format_value(found.value, found.unit);
}

const Figure& TitleView::least(const FigureQuery& query) const {
  const auto found = all(query);
  return **std::ranges::min_element(found, {}, [](const Figure* f) { return f->value; });
}

const Ceiling& TitleView::ceiling(std::string_view resource, Basis basis) const {
  const Ceiling* found = view.ceiling(resource, basis);
  if (found == nullptr) throw Missing();
  return *found;
}

Measurement unmeasured(const Benchmark& benchmark, const Point& point) {
  Measurement m;
  m.id = benchmark.id;
  m.params = point.params;
  m.unit = unit_of(benchmark.quantity);
  m.method_version = benchmark.method_version;
  m.varies_with = benchmark.varies_with;
  return m;
}

std::vector<const Point*> round_of(const Benchmark& benchmark, const Point& point) {
  if (point.round == 0) return {&point};
  std::vector<const Point*> members;
  for (const Point& other : benchmark.points)
    if (other.round == point.round) members.push_back(&other);
  return members;
}

const Benchmark* find_benchmark(Benchmarks benchmarks, std::string_view id) {
  const auto found = std::ranges::find(benchmarks, id, &Benchmark::id);
  return found == benchmarks.end() ? nullptr : &*found;
}

std::vector<const CeilingRule*> ceiling_rules(Benchmarks benchmarks, const Measurement& measurement,
                                              const DeviceFacts* device) {
  std::vector<const CeilingRule*> rules;
  const Benchmark* benchmark = find_benchmark(benchmarks, measurement.id);
  if (benchmark == nullptr) return rules;
  if (device != nullptr && benchmark->runs_on && !benchmark->runs_on(*device)) return rules;
  for (const CeilingRule& rule : benchmark->ceilings)
    if (!rule.counts || rule.counts(measurement, device)) rules.push_back(&rule);
  return rules;
}

std::function<bool(const Measurement&, const DeviceFacts*)> at_least(std::string param,
                                                                     double bytes) {
  return [param = std::move(param), bytes](const Measurement& m, const DeviceFacts*) {
    const auto value = int_param(m.params, param);
    const bool shrunk = m.status == Status::kOk && m.work.bytes() < kWholeFootprint * bytes;
    return value && static_cast<double>(*value) >= bytes && !shrunk;
  };
}

std::function<bool(const Measurement&, const DeviceFacts*)> where(std::string param,
                                                                  std::string value) {
  return [param = std::move(param), value = std::move(value)](const Measurement& m,
                                                              const DeviceFacts*) {
    return text_param(m.params, param) == value;
  };
}

}  // namespace peakline

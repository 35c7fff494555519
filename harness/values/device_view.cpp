#include "harness/values/device_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace peakline {

namespace {

auto found_in(const auto& map, const auto& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

std::string DeviceView::key() const {
  return facts != nullptr ? fmt::format("gpu{}", facts->index) : std::string(device);
}

std::string DeviceView::model() const {
  if (facts != nullptr) return facts->name;
  if (is_host()) return profile->host.cpu_model;
  std::map<std::string_view, std::size_t> models;
  for (const DeviceFacts& gpu : profile->devices) ++models[gpu.name];
  std::vector<std::string> counted;
  for (const auto& [name, count] : models) counted.push_back(fmt::format("{} x {}", count, name));
  return fmt::format("{}", fmt::join(counted, ", "));
}

const Measurement* DeviceView::measurement(std::string_view name) const {
  return found_in(by_name, std::string(name));
}

const Ceiling* DeviceView::ceiling(std::string_view resource, Basis basis) const {
  return found_in(by_key, Key(resource, basis));
}

const MissingCeiling* DeviceView::missing(std::string_view resource, Basis basis) const {
  return found_in(missing_by_key, Key(resource, basis));
}

const Measurement* DeviceView::source(const Ceiling& ceiling) const {
  return measurement(ceiling.measurement);
}

std::vector<const Measurement*> DeviceView::sweep(std::string_view id) const {
  std::vector<const Measurement*> found;
  for (const Measurement* m : measurements)
    if (m->id == id && sound(*m)) found.push_back(m);
  return found;
}

std::optional<double> DeviceView::figure(const FigureQuery& query) const {
  for (const Curve* curve : curves)
    if (const Figure* found = find_figure(curve->figures, query)) return found->value;
  return std::nullopt;
}

std::vector<const Figure*> DeviceView::figures(const FigureQuery& query) const {
  std::vector<const Figure*> found;
  for (const Curve* curve : curves)
    for (const Figure& figure : curve->figures)
      if (query(figure)) found.push_back(&figure);
  return found;
}

const DeviceFacts* facts_for(const Profile& profile, const Measurement& m) {
  const bool node = m.device == kNodeDevice;
  const auto index = node ? first_gpu(m.params) : std::nullopt;
  const auto found = std::ranges::find_if(profile.devices, [&](const DeviceFacts& device) {
    return node ? !index || device.index == *index : device.uuid == m.device;
  });
  return found == profile.devices.end() ? nullptr : &*found;
}

namespace {

MeasuredPoints points_of(const std::vector<const Measurement*>& measurements) {
  std::vector<MeasuredPoint> points;
  for (const Measurement* m : measurements)
    points.push_back({.what = m,
                      .sound = sound(*m),
                      .value = m->value.value_or(0),
                      .sm_clock_hz = m->conditions.sm_clock_hz});
  return std::make_shared<const std::vector<MeasuredPoint>>(std::move(points));
}

}  // namespace

std::vector<DeviceView> device_views(const Profile& profile) {
  std::vector<DeviceView> views;
  std::unordered_map<std::string_view, std::size_t> position;
  const auto add = [&](std::string_view name, const DeviceFacts* facts) {
    position.try_emplace(name, views.size());
    views.push_back({.profile = &profile, .device = name, .facts = facts});
  };
  for (const DeviceFacts& device : profile.devices) add(device.uuid, &device);
  add(kNodeDevice, nullptr);
  add(kHostDevice, nullptr);
  for (const Measurement& m : profile.measurements) {
    const auto found = position.find(m.device);
    if (found == position.end()) continue;
    DeviceView& view = views[found->second];
    view.measurements.push_back(&m);
    view.by_name.try_emplace(m.name(), &m);
  }
  for (DeviceView& view : views) {
    const auto packed = profile.points.find(view.device);
    view.points = packed != profile.points.end() ? packed->second : points_of(view.measurements);
  }
  const auto share_out = [&](const auto& rows, auto list) {
    for (const auto& row : rows) {
      const auto found = position.find(row.device);
      if (found != position.end()) (views[found->second].*list).push_back(&row);
    }
  };
  share_out(profile.ceilings, &DeviceView::ceilings);
  share_out(profile.missing_ceilings, &DeviceView::missing_ceilings);
  share_out(profile.headlines, &DeviceView::headlines);
  share_out(profile.rooflines, &DeviceView::rooflines);
  share_out(profile.memory_map, &DeviceView::memory_map);
  share_out(profile.curves, &DeviceView::curves);
  share_out(profile.findings, &DeviceView::findings);
  for (DeviceView& view : views) {
    for (const Ceiling* row : view.ceilings)
      view.by_key.try_emplace({row->resource, row->basis}, row);
    for (const MissingCeiling* row : view.missing_ceilings)
      view.missing_by_key.try_emplace({row->resource, row->basis}, row);
  }
  return views;
}

}  // namespace peakline

#include "harness/values/device_view.hpp"

#include <algorithm>

namespace peakline {

const Measurement* DeviceView::source(const Ceiling& ceiling) const {
  const auto found = by_name.find(ceiling.measurement);
  return found == by_name.end() ? nullptr : found->second;
}

std::optional<double> figure(const DeviceView& device, const FigureQuery& query) {
  for (const Curve& curve : device.profile->curves) {
    if (curve.device != device.name()) continue;
    if (const Figure* found = find_figure(curve.figures, query)) return found->value;
  }
  return std::nullopt;
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
  share_out(profile.findings, &DeviceView::findings);
  return views;
}

}  // namespace peakline

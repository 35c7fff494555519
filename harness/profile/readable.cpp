// Keeps what no reader would take out of a profile, before it is written.

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/profile/profile.hpp"
#include "harness/profile/rows.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Clocks that time samples are good to about five digits, the short intervals of a series to four.
constexpr int kSampleDigits = 5, kSeriesDigits = 4;

Measurement rounded(Measurement m) {
  round_digits(m.samples_s, kSampleDigits);
  if (m.summary) {
    for (double* v : {&m.summary->median, &m.summary->ci_low, &m.summary->ci_high, &m.summary->min,
                      &m.summary->max}) {
      round_digits(*v, kSampleDigits);
    }
  }
  round_digits(m.value);
  m.duration_s = std::round(m.duration_s * 1e3) / 1e3;
  Conditions& conditions = m.conditions;
  for (auto* v :
       {&conditions.sm_clock_hz, &conditions.memory_clock_hz, &conditions.power_w,
        &conditions.temperature_c, &conditions.utilization, &conditions.power_cap_share}) {
    round_digits(*v);
  }
  Series& series = m.series;
  for (auto* column : {&series.time_s, &series.rate, &series.sm_clock_hz, &series.power_w,
                       &series.temperature_c}) {
    round_digits(*column, kSeriesDigits);
  }
  return m;
}

// Makes a structure what a reader takes it for; says why if it takes it for nothing.
template <class T>
std::string read_again(T& structure, const std::string& name) {
  try {
    structure = profile_format::from_line<T>(profile_format::to_line(structure), name);
    return {};
  } catch (const ProfileError& error) {
    return fmt::format("not a valid value: {}", printable(error.what()));
  }
}

}  // namespace

Measurement readable(const Measurement& measurement) {
  try {
    return measurement_from_json_line(to_json_line(rounded(measurement)));
  } catch (const ProfileError& error) {
    return {.id = measurement.id,
            .params = measurement.params,
            .device = measurement.device,
            .status = Status::kError,
            .reason = fmt::format("left out: {}", error.what()),
            .unit = measurement.unit,
            .method_version = measurement.method_version};
  }
}

void leave_out_unreadable(Profile& profile, std::vector<Finding>& left_out) {
  const auto lost = [&](auto& structure, const std::string& name, const std::string& device) {
    std::string why = read_again(structure, name);
    if (!why.empty())
      left_out.push_back({.code = "left_out",
                          .severity = Severity::kWarning,
                          .device = device,
                          .message = fmt::format("Left out, {}.", why),
                          .evidence = {}});
    return why;
  };
  const auto keep_rows = [&](auto& rows, const auto& name_of) {
    std::erase_if(rows, [&](auto& row) { return !lost(row, name_of(row), row.device).empty(); });
  };
  if (!lost(profile.host, "host", "").empty()) profile.host = {};
  if (!lost(profile.software, "software", "").empty()) profile.software = {};
  for (DeviceFacts& device : profile.devices) {
    if (lost(device, "device", device.uuid).empty()) continue;
    DeviceFacts names;
    names.uuid = device.uuid;
    names.name = device.name;
    device = std::move(names);
  }
  std::erase_if(profile.ceilings, [&](Ceiling& row) {
    const std::string name = fmt::format("{}/{}", row.resource, to_string(row.basis));
    const std::string why = lost(row, name, row.device);
    if (!why.empty())
      profile.missing_ceilings.push_back({.device = row.device,
                                          .resource = row.resource,
                                          .basis = row.basis,
                                          .why = Absence::kUnreadable,
                                          .reason = why});
    return !why.empty();
  });
  keep_rows(profile.rooflines, [](const Roofline&) { return "roofline"; });
  keep_rows(profile.curves, [](const Curve& row) { return row.topic; });
  keep_rows(profile.memory_map, [](const MemoryLevel& row) { return row.label; });
}

}  // namespace peakline

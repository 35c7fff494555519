// Keeps what no reader would take out of a profile, before it is written.

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/profile/profile.hpp"
#include "harness/profile/rows.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Digits of a time series: short intervals are imprecise.
constexpr int kSeriesDigits = 5;

Measurement rounded(Measurement m) {
  round_digits(m.samples_s);
  if (m.summary) {
    for (double* v : {&m.summary->median, &m.summary->ci_low, &m.summary->ci_high, &m.summary->min,
                      &m.summary->max}) {
      round_digits(*v);
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

Finding left_out_for(const std::string& why, const std::string& device) {
  return {.code = "left_out",
          .severity = Severity::kWarning,
          .device = device,
          .message = fmt::format("Left out, {}.", why),
          .evidence = {}};
}

// Calls `dropped` with each row that goes and the reason.
template <class T>
void keep_rows(std::vector<T>& rows, std::vector<Finding>& left_out, const auto& name_of,
               const auto& dropped) {
  std::erase_if(rows, [&](T& row) {
    const std::string why = read_again(row, name_of(row));
    if (why.empty()) return false;
    left_out.push_back(left_out_for(why, row.device));
    dropped(row, why);
    return true;
  });
}

// Facts are lost together, so that the rest of the profile stays.
template <class T>
void keep_facts(T& facts, T otherwise, std::vector<Finding>& left_out, const std::string& name,
                const std::string& device = {}) {
  if (const std::string why = read_again(facts, name); !why.empty()) {
    left_out.push_back(left_out_for(why, device));
    facts = std::move(otherwise);
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
  keep_facts(profile.host, {}, left_out, "host");
  keep_facts(profile.software, {}, left_out, "software");
  for (DeviceFacts& device : profile.devices) {
    DeviceFacts only_names;
    only_names.uuid = device.uuid;
    only_names.name = device.name;
    keep_facts(device, std::move(only_names), left_out, "device", device.uuid);
  }
  const auto ignore = [](const auto&...) {};
  keep_rows(
      profile.ceilings, left_out,
      [](const Ceiling& row) { return fmt::format("{}/{}", row.resource, to_string(row.basis)); },
      [&](const Ceiling& row, const std::string& why) {
        profile.missing_ceilings.push_back({.device = row.device,
                                            .resource = row.resource,
                                            .basis = row.basis,
                                            .why = Absence::kUnreadable,
                                            .reason = why});
      });
  keep_rows(
      profile.rooflines, left_out, [](const Roofline&) { return "roofline"; }, ignore);
  keep_rows(
      profile.curves, left_out, [](const Curve& row) { return row.topic; }, ignore);
  keep_rows(
      profile.memory_map, left_out, [](const MemoryLevel& row) { return row.label; }, ignore);
}

}  // namespace peakline

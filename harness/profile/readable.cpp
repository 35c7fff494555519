// Checks values before writing, by the rules for reading.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/profile/checks.hpp"
#include "harness/profile/json.hpp"
#include "harness/profile/profile.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace profile_format {
namespace {

// Visits fields. Drops an invalid one at the innermost level that may be missing and reports it in
// `faults`; throws without `faults`, or if nothing may be missing.
template <class Structure>
struct Checker {
  const Place& place;
  Structure& structure;
  std::vector<std::string>* faults;

  template <class T>
  void operator()(const char* key, T& value, const Rule& rule = {}) {
    visit({.parent = &place, .key = key}, value, rule);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value, const Rule& rule = {}) {
    if constexpr (std::same_as<T, double>) {
      if (value && !std::isfinite(*value)) value.reset();  // not written
    }
    maybe(key, value, rule);
  }
  template <class T>
  void maybe(const char* key, T& value, const Rule& rule = {},
             const std::type_identity_t<T>& otherwise = {}) {
    if (value == otherwise) return;
    try {
      visit({.parent = &place, .key = key}, value, rule);
    } catch (const ProfileError& error) {
      if (faults == nullptr) throw;
      faults->emplace_back(error.what());
      value = otherwise;
    }
  }
  void rule(const auto& rule) { check(place, fields_of(structure), rule); }

  template <class T>
  void visit(const Place& at, T& value, const Rule& rule) {
    if constexpr (Described<T>) {
      Checker<T> inner{at, value, faults};
      fields(inner, value);
    } else if constexpr (requires { value.has_value(); }) {
      visit(at, *value, rule);
    } else if constexpr (kIsList<T>) {
      check_length(at, value.size(), rule);
      for (std::size_t i = 0; i < value.size(); ++i)
        visit({.parent = &at, .index = i}, value[i], rule);
    } else if constexpr (requires { value.second; }) {
      if constexpr (std::same_as<decltype(value.second), double>) {
        if (!std::isfinite(value.second)) return;  // not written
      }
      visit({.parent = at.parent, .key = value.first}, value.second, rule);
    } else if constexpr (requires { check(value, rule, [](std::string_view) {}); }) {
      check(value, rule,
            [&](std::string_view what) { at.expected(what, dump(as_written(value))); });
    }
  }
};

template <class T>
void check_all(T& structure, std::string_view name, std::vector<std::string>* faults) {
  const Place root{.key = name};
  Checker<T> checker{root, structure, faults};
  fields(checker, structure);
}

// Drops what breaks a rule and collects `faults`; false if the structure is useless without it.
template <class T>
bool repair(T& structure, const std::string& name, std::vector<std::string>& faults) {
  try {
    check_all(structure, name, &faults);
    return true;
  } catch (const ProfileError& error) {
    faults.assign(1,
                  faults.empty() ? error.what() : faults.front());  // others follow from the first
    return false;
  }
}

std::string device_of(const auto& row) {
  if constexpr (requires { row.device; })
    return row.device;
  else if constexpr (requires { row.uuid; })
    return row.uuid;
  else
    return {};
}

// Repairs a row or facts, with a finding per fault. Returns the fault if it must go.
template <class T>
std::optional<std::string> keep(T& structure, const std::string& name,
                                std::vector<Finding>& findings) {
  std::vector<std::string> faults;
  const bool stays = repair(structure, name, faults);
  for (const std::string& fault : faults)
    findings.push_back({.code = "left_out",
                        .severity = Severity::kWarning,
                        .device = device_of(structure),
                        .message = "Left out, not a valid value: " + printable(fault) + ".",
                        .evidence = {}});
  return stays ? std::nullopt : std::optional(std::move(faults.front()));
}

// Repairs rows; returns the dropped ones with the reason.
template <class T>
std::vector<std::pair<T, std::string>> keep_rows(std::vector<T>& rows, const auto& name_of,
                                                 std::vector<Finding>& findings) {
  std::vector<T> kept;
  std::vector<std::pair<T, std::string>> gone;
  for (T& row : rows) {
    if (const auto why = keep(row, name_of(row), findings))
      gone.emplace_back(std::move(row), *why);
    else
      kept.push_back(std::move(row));
  }
  rows = std::move(kept);
  return gone;
}

}  // namespace
}  // namespace profile_format

using namespace profile_format;

Measurement readable(Measurement m) {
  std::vector<std::string> faults;
  const bool stays = repair(m, m.name(), faults);
  if (faults.empty()) return m;
  const std::string why = fmt::format("left out: {}", fmt::join(faults, "; "));
  if (stays) {
    m.reason += (m.reason.empty() ? "" : "; ") + why;
    return m;
  }
  Measurement error;
  error.id = std::move(m.id);
  error.device = std::move(m.device);
  error.params = std::move(m.params);
  error.status = Status::kError;
  error.reason = why;
  error.unit = std::move(m.unit);
  error.method_version = m.method_version;
  return error;
}

void leave_out_unreadable(Profile& profile, std::vector<Finding>& left_out) {
  keep(profile.host, "host", left_out);
  keep(profile.software, "software", left_out);
  for (DeviceFacts& device : profile.devices) keep(device, "device", left_out);
  const auto ceiling = [](const Ceiling& row) {
    return fmt::format("{}/{}", row.resource, to_string(row.basis));
  };
  for (const auto& [row, why] : keep_rows(profile.ceilings, ceiling, left_out))
    profile.missing_ceilings.push_back({.device = row.device,
                                        .resource = row.resource,
                                        .basis = row.basis,
                                        .why = Absence::kUnreadable,
                                        .reason = "not a valid value: " + why});
  keep_rows(
      profile.rooflines, [](const Roofline&) { return "roofline"; }, left_out);
  keep_rows(
      profile.curves, [](const Curve& row) { return row.topic; }, left_out);
  keep_rows(
      profile.memory_map, [](const MemoryLevel& row) { return row.label; }, left_out);
}

void require_readable(Profile profile, std::string_view name) { check_all(profile, name, nullptr); }

}  // namespace peakline

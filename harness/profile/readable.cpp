// Holds what is to be written against the rules by which it will be read.

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "harness/profile/profile.hpp"
#include "harness/profile/row.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

using profile_format::decoded;
using profile_format::dump;
using profile_format::encoded;
using profile_format::json;

// A structure without the fields that break a rule, and what was wrong with them; nullopt where it
// cannot be without them.
template <class T>
struct Kept {
  std::optional<T> structure;
  std::vector<std::string> faults;
};

// False where there is no such field.
bool erase(json& object, std::span<const std::string> field) {
  if (field.empty()) return false;
  const auto found = object.find(field.front());
  if (found == object.end()) return false;
  if (field.size() > 1) return erase(*found, field.subspan(1));
  object.erase(found);
  return true;
}

template <class T>
Kept<T> kept(const T& structure, const std::string& name) {
  Kept<T> result;
  try {
    json object = encoded(structure);
    while (true) {
      try {
        result.structure = decoded<T>(dump(object), name);
        return result;
      } catch (const ProfileError& error) {
        result.faults.emplace_back(error.what());
        if (!erase(object, error.field)) {
          result.faults.resize(1);  // the others say what is missing since
          return result;
        }
      }
    }
  } catch (const ProfileError& error) {
    result.faults.push_back(fmt::format("{}: {}", name, error.what()));
    return result;
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

class Findings {
 public:
  explicit Findings(std::vector<Finding>& all) : all_(all) {}

  void add(const std::string& device, const std::vector<std::string>& faults) {
    for (const std::string& fault : faults)
      all_.push_back(
          {.code = "left_out",
           .severity = Severity::kWarning,
           .device = device,
           .message = "Left out, since no reader would take it: " + printable(fault) + ".",
           .evidence = {}});
  }

 private:
  std::vector<Finding>& all_;
};

// gone: called with each row that cannot stay, and why.
template <class T>
void keep_rows(std::vector<T>& rows, const auto& name_of, Findings& findings, const auto& gone) {
  std::vector<T> all;
  for (T& row : rows) {
    Kept<T> checked = kept(row, name_of(row));
    findings.add(device_of(row), checked.faults);
    if (checked.structure)
      all.push_back(std::move(*checked.structure));
    else
      gone(row, checked.faults.front());
  }
  rows = std::move(all);
}

template <class T>
void keep_facts(T& facts, const std::string& name, Findings& findings) {
  Kept<T> checked = kept(facts, name);
  findings.add(device_of(facts), checked.faults);
  if (checked.structure) facts = std::move(*checked.structure);
}

}  // namespace

Measurement readable(Measurement m) {
  Kept<Measurement> checked = kept(m, m.name());
  if (checked.faults.empty()) return m;
  const std::string why = fmt::format("left out: {}", fmt::join(checked.faults, "; "));
  if (checked.structure) {
    m = std::move(*checked.structure);
    m.reason += (m.reason.empty() ? "" : "; ") + why;
    return m;
  }
  return {.id = std::move(m.id),
          .params = std::move(m.params),
          .device = std::move(m.device),
          .status = Status::kError,
          .reason = why,
          .work = {},
          .launch = {},
          .samples_s = {},
          .summary = {},
          .value = {},
          .unit = std::move(m.unit),
          .verified = {},
          .flags = {},
          .conditions = {},
          .series = {},
          .method_version = m.method_version};
}

void leave_out_unreadable(Profile& profile, std::vector<Finding>& left_out) {
  Findings findings(left_out);
  keep_facts(profile.host, "host", findings);
  keep_facts(profile.software, "software", findings);
  for (DeviceFacts& device : profile.devices) keep_facts(device, "device", findings);
  const auto nothing_else = [](const auto&, const std::string&) {};
  keep_rows(
      profile.ceilings,
      [](const Ceiling& row) { return row.resource + "/" + std::string(to_string(row.basis)); },
      findings,
      [&](const Ceiling& row, const std::string& why) {
        profile.missing_ceilings.push_back({.device = row.device,
                                            .resource = row.resource,
                                            .basis = row.basis,
                                            .reason = "left out: " + why});
      });
  keep_rows(
      profile.rooflines, [](const Roofline&) { return "roofline"; }, findings, nothing_else);
  keep_rows(
      profile.curves, [](const Curve& row) { return row.topic; }, findings, nothing_else);
  keep_rows(
      profile.memory_map, [](const MemoryLevel& row) { return row.label; }, findings, nothing_else);
}

}  // namespace peakline

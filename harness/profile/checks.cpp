#include "harness/profile/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "harness/profile/json.hpp"
#include "harness/values/text.hpp"

namespace peakline::profile_format {
namespace {

// Tells where a measurement stands: measurements[3], or measurements[3].points[1].
std::string place_of(std::size_t index, const json& measurements) {
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const json* const points = find(measurements[i], kPoints);
    const std::size_t count = points ? points->size() : 1;
    if (index < count) {
      return fmt::format("measurements[{}]", i) + (points ? fmt::format(".points[{}]", index) : "");
    }
    index -= count;
  }
  return "measurements";
}

}  // namespace

void check(const Node& node, const Summary& s) {
  if (s.min > s.ci_low || s.ci_low > s.median || s.median > s.ci_high || s.ci_high > s.max) {
    node.fail("expected min_s <= ci_low_s <= median_s <= ci_high_s <= max_s");
  }
}

void check(const Node& node, const Series& series) {
  const auto same_length = [&](const char* key, const std::vector<double>& column) {
    if (column.size() == series.time_s.size()) return;
    member(node, key).fail(fmt::format("expected {} values, as in time_s, found {}",
                                       series.time_s.size(), column.size()));
  };
  same_length("rate", series.rate);
  same_length("sm_clock_hz", series.sm_clock_hz);
  same_length("power_w", series.power_w);
  same_length("temperature_c", series.temperature_c);
}

void check(const Node& node, const Measurement& m) {
  if (m.status != Status::kOk && m.reason.empty()) {
    node.fail(fmt::format("\"reason\" is missing: the status is {}", to_string(m.status)));
  }
  if (m.status == Status::kOk && !m.summary) {
    node.fail("\"samples_s\" or \"summary\" is missing: the status is ok");
  }
  if (m.status == Status::kOk && !m.value) node.fail("\"value\" is missing: the status is ok");
  std::size_t counted = 0;
  for (const auto& run : m.sittings) {
    for (const std::int64_t count : run) {
      // One too many is as wrong as any number, and cannot overflow the sum.
      counted += static_cast<std::size_t>(std::min<std::int64_t>(count, kMaxSamples + 1));
    }
  }
  const bool empty_run = std::ranges::any_of(m.sittings, &std::vector<std::int64_t>::empty);
  if (empty_run || (!m.sittings.empty() && counted != m.samples_s.size())) {
    member(node, "sittings")
        .fail(fmt::format("expected {} samples in all, and some in every run", m.samples_s.size()));
  }
}

void check(const Node& node, const Ceiling& c) {
  if (c.ci_low.value_or(c.value) > c.value || c.ci_high.value_or(c.value) < c.value) {
    node.fail("expected ci_low <= value <= ci_high");
  }
}

void check(const Node& node, const Profile& profile) {
  const auto place = [&](const char* key, std::size_t i) {
    return std::string_view(key) == kMeasurements ? place_of(i, node.value[key])
                                                  : fmt::format("{}[{}]", key, i);
  };
  std::unordered_set<std::string> devices = {std::string(kHostDevice), std::string(kNodeDevice)};
  for (std::size_t i = 0; i < profile.devices.size(); ++i) {
    if (!devices.insert(profile.devices[i].uuid).second) {
      node.fail(fmt::format("devices[{}].uuid: expected one of its own, found \"{}\"", i,
                            printable(profile.devices[i].uuid, kShown)));
    }
  }
  const auto known = [&](const char* key, const auto& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (devices.contains(rows[i].device)) continue;
      node.fail(fmt::format(
          "{}.device: expected \"host\", \"node\" or the uuid of a device, found \"{}\"",
          place(key, i), printable(rows[i].device, kShown)));
    }
  };
  known(kMeasurements, profile.measurements);
  known("ceilings", profile.ceilings);
  known("missing_ceilings", profile.missing_ceilings);
  known("rooflines", profile.rooflines);
  known("headlines", profile.headlines);
  known("curves", profile.curves);
  known("memory_map", profile.memory_map);
  devices.insert("");
  known("findings", profile.findings);

  std::set<std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < profile.measurements.size(); ++i) {
    const Measurement& m = profile.measurements[i];
    if (!names.emplace(m.device, m.name()).second) {
      node.fail(fmt::format("{}: {} is there twice", place(kMeasurements, i),
                            printable(m.name(), kShown)));
    }
  }
}

}  // namespace peakline::profile_format

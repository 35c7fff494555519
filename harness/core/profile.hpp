#pragma once

// The profile: one run of peakline on one machine.

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/facts.hpp"
#include "harness/core/measurement.hpp"

namespace peakline {

struct Profile {
  std::string created;  // UTC, "2026-11-20T20:17:00Z"
  std::string tool;     // "peakline 0.1.0"
  std::vector<std::string> command;
  std::string mode;  // "full", "quick"
  bool complete = false;
  double duration_s = 0;
  HostFacts host;
  SoftwareFacts software;
  std::vector<DeviceFacts> devices;
  std::vector<Measurement> measurements;
  std::vector<Ceiling> ceilings;
  std::vector<Roofline> rooflines;
  std::vector<Finding> findings;

  bool operator==(const Profile&) const = default;
};

}  // namespace peakline

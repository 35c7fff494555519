#pragma once

// Problems other than slow figures: reported errors, and wrong or impossible results.

#include "harness/judge/rules.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Adds a rule "health/CODE" per code of the device's findings of severity "error".
void judge_findings(const DeviceView& device, RulesOf& rules);
// The rule on measurements that failed, whose text names them.
inline constexpr std::string_view kFailedRule = "health/failed";
// Adds it for a host, of which nothing else is judged: it warns.
void judge_failures(const DeviceView& host, RulesOf& rules);
// Adds such rules for the profile's findings that name no device.
void judge_machine(const Profile& profile, RulesOf& rules);
// Wrong or impossible results without a finding, and those that were not verified.
void judge_results(const DeviceView& device, RulesOf& rules);
// Both, and a GPU's error counters. Adds a passing rule "health" without problems.
void judge_health(const DeviceView& gpu, RulesOf& rules);
// Wrong data between GPUs is a fault of either or of their link.
void judge_pairs(const DeviceView& gpu, const DeviceView& node, RulesOf& rules);

}  // namespace peakline

#pragma once

// What speaks against a device before any of its figures does: errors that it reports, and results
// that are wrong or impossible.

#include "harness/judge/rules.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {

// Adds a rule "health/CODE" for each finding of severity "error" of the device, once a code.
void judge_findings(const DeviceView& device, RulesOf& rules);
// Results that are wrong or impossible, of which the profile has no finding.
void judge_results(const DeviceView& device, RulesOf& rules);
// All of it, and a GPU's counters of errors. Where nothing was reported a rule "health" passes.
void judge_health(const DeviceView& gpu, RulesOf& rules);
// Data that arrived wrong from another GPU are a fault of either, or of the link between them.
void judge_pairs(const DeviceView& gpu, const DeviceView& node, RulesOf& rules);

}  // namespace peakline

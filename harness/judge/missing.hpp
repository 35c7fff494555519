#pragma once

// Rules for what a run lacks.

#include <span>

#include "harness/judge/card_runs.hpp"
#include "harness/judge/rules.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/labels.hpp"

namespace peakline {

// Figures that the population has and the run lacks.
void judge_missing(const DeviceView& view, const CardRun& run, const Known& known,
                   const ResourceLabels& labels, RulesOf& rules);
// Figures without a measurement of their value: nobody knows whether they were wrong or impossible.
void judge_sources(const DeviceView& view, RulesOf& rules);
// Whether NVLinks may connect the GPU with others: MIG instances have no peers.
bool may_be_linked(const DeviceFacts& gpu);
// Pairs that NVLinks connect and nobody measured: the slowest of the others does not vouch for
// them.
void judge_missing_pairs(const DeviceView& node, RulesOf& rules);
// The slowest of some GPUs or pairs does not vouch for those that were not measured.
void judge_omitted(const DeviceView& node, const CardRun& run, std::span<Judged> rules);

}  // namespace peakline

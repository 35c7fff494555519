#pragma once

// Rules of a site's own (--rules): limits, and what only warns or is left out.

#include <span>
#include <vector>

#include "harness/judge/checked_device.hpp"
#include "harness/values/device_view.hpp"

namespace peakline {

// A limit asks for its figure; other changes only soften what fails.
bool asks(const RuleChange& change);
// Those for one device or mode after those for all, since the last one counts.
std::vector<RuleChange> by_scope(std::span<const RuleChange> changes);
// Whether the change concerns, or adds, a rule of the device. gpu: the device's view.
bool apply(const RuleChange& change, const DeviceView& gpu, CheckedDevice& device);
// Adds a rule that cannot be judged: the limit is on a device that the machine lacks.
void add_absent(const RuleChange& change, std::vector<CheckedDevice>& devices);

}  // namespace peakline

#pragma once

// All that is known of a device, as tables; those without rows are empty.

#include <vector>

#include "harness/show/table.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/labels.hpp"

namespace peakline {

struct Checks;  // harness/judge/check.hpp

// The first figures.
Table headlines_table(const DeviceView& device);
// Compute ceilings by resource and basis: with the peaks at the maximum and the observed clock,
// what is published, and the largest loss.
Table compute_table(const DeviceView& device);
// The peaks that an MFU can divide by, of each precision that GEMMs were measured in.
Table mfu_table(const DeviceView& gpu, const ResourceLabels& labels);
// Bandwidths of memory and links, compared with what packet headers leave, if known.
Table bandwidth_table(const DeviceView& device, const ResourceLabels& labels);
// The host's bandwidths and rates.
Table host_table(const DeviceView& host, const ResourceLabels& labels);
Table memory_map_table(const DeviceView& gpu);
// Each ceiling's share of its theoretical value, as factors.
Table factors_table(const DeviceView& device, const ResourceLabels& labels);
// Compute resources and bases down, memory levels across.
Table ridge_table(const DeviceView& device, const ResourceLabels& labels);
// Instructions' measured and documented rates, and latencies, by figures of these curves.
Table instruction_table(const std::vector<const Curve*>& curves);

// All of a device besides topics, in the order of --all. checks: mark the figures that fail.
std::vector<Table> tables_of(const DeviceView& device, const ResourceLabels& labels,
                             const Checks* checks = nullptr);
}  // namespace peakline

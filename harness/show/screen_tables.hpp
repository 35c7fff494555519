#pragma once

// Tables of the first screen; those without rows and notes are left out.

#include <vector>

#include "harness/show/figures.hpp"
#include "harness/show/table.hpp"
#include "harness/values/labels.hpp"

namespace peakline {

Table machine_table(const Profile& profile, const std::vector<DeviceView>& devices);
Table links_table(const Checks& checks, const DeviceView& node, const ResourceLabels& labels);
Table gpus_table(const Checks& checks, const Alike& group, const ResourceLabels& labels);
// Shares of burst by the side of square GEMMs, the least over GPUs.
Table gemm_sizes(const Alike& group);
// The peaks to divide by for MFU, in the precision of the first loaded figure.
Table mfu_choice(const Checks& checks, const Alike& group);
// Memory levels of the first GPU; none without latencies.
Table levels_table(const Checks& checks, const Alike& group);
// Compared with the raw rate less packet headers, if known.
Table host_link_table(const Checks& checks, const Alike& group, const ResourceLabels& labels);
Table host_figures(const Checks& checks, const DeviceView& host);
// How fast files reach the host and the slowest GPU.
Table storage_table(const Checks& checks, const std::vector<DeviceView>& devices,
                    const ResourceLabels& labels);

}  // namespace peakline

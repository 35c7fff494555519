#pragma once

// Tables of `show`. Each ends in a newline; empty without rows.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/show/overview.hpp"
#include "harness/values/labels.hpp"

namespace peakline {

// "±0.3 %", or "varies" if the next run may be far off.
std::string next_run(const std::optional<double>& measured, const NextRun& next);
// "4617 GB/s", or "about 30 GB/s" if the next run may be far off.
std::string figure_text(double measured, const NextRun& next, std::string_view unit);

// "warning  The GPU ...", wrapped.
std::string finding_text(Severity severity, std::string_view message, std::size_t width);
// "BF16" of "BF16 Tensor Cores".
std::string precision_of(const std::string& label);

std::string compute_table(const std::vector<ComputeRow>& rows, const ResourceLabels& labels,
                          std::size_t width);
// The peaks that an MFU can divide by, of each precision that GEMMs were measured in.
std::string mfu_table(const DeviceOverview& gpu, const ResourceLabels& labels, std::size_t width);
std::string bandwidth_table(const DeviceOverview& device, const ResourceLabels& labels,
                            std::size_t width);
std::string host_table(const DeviceOverview& host, const ResourceLabels& labels, std::size_t width);
std::string memory_map_table(const std::vector<MemoryLevel>& levels, std::size_t width);
// Instructions' measured and documented rates, and latencies, by figures of their curves.
std::string instruction_table(const std::vector<Curve>& curves, std::size_t width);
// Compute resources down, memory levels and bases across.
std::string ridge_table(const std::vector<RidgePoint>& points, const ResourceLabels& labels,
                        std::size_t width);

}  // namespace peakline

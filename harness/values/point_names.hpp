#pragma once

// Names of measurements as people read them.

#include <string>
#include <string_view>
#include <vector>

#include "harness/values/measurement.hpp"

namespace peakline {

// A parameter's value: "256 KiB" of one in bytes, "write combined".
std::string parameter_text(const std::string& name, const ParamValue& value);
// "pinned, 256 KiB"
std::string params_text(const Params& by);
// The parts of a benchmark's id: {"pcie", "h2d", "pinned"}.
std::vector<std::string> words_of_id(std::string_view id);
// "GEMM skinny BF16", "PCIe H2D pinned"
std::string name_of_id(std::string_view id);
// "PCIe D2H pinned (64 KiB)", "host memory read (threads 16)"
std::string name_of_point(const Measurement& m);

}  // namespace peakline

#pragma once

// The first line of a comparison, and its parts.

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/comparison.hpp"

namespace peakline {

// Labels, each once: several GPUs may have one.
std::vector<std::string> labels_of(const std::vector<const CeilingComparison*>& figures);

// "PCIe both ways is too noisy to tell".
std::string too_noisy(const std::vector<const CeilingComparison*>& varying);

// "1 curve slower (launch graph); 2 curves faster (...); 1 curve looks 4.9 times slower, and is too
// noisy to tell (PCIe H2D pageable)"; empty for none.
std::string deviating_curves(std::span<const DeviceComparison> devices);

// The sides' names: of their files, where each has one.
std::pair<std::string, std::string> side_names(const CompareResult& result);

// The cards of both sides, if several on a side are compared as one; else none.
std::pair<std::size_t, std::size_t> pooled(const CompareResult& result);

}  // namespace peakline

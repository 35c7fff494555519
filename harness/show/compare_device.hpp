#pragma once

// One pair of devices of a comparison, as text: which figures deviate, and the tables.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/comparison.hpp"

namespace peakline {

// Whether the sides differ, if only within the model's scatter.
bool deviates(Verdict verdict);

// From equality, as a share.
double difference(const CeilingComparison* c);

// Ceilings that have a verdict.
std::vector<const CeilingComparison*> judged(std::span<const DeviceComparison> devices);

// Rows to print of a pair: all, what deviates, or the largest differences.
enum class Rows { kAll, kDeviating, kLargest };

// "only in base: ..."; "" without names.
std::string only_in(std::string_view side, const std::vector<std::string>& names,
                    std::size_t width);

// Title, tables, and conditions that differ; "" if nothing is to be shown.
std::string device_text(const DeviceComparison& device, Rows rows, std::size_t width);

}  // namespace peakline

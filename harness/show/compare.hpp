#pragma once

#include <string>

#include "harness/judge/comparison.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// Says what changed along with a ceiling's value: its rate per clock, clock, power, or the method
// of measuring. Empty: nothing that is known.
std::string explanation(const CeilingComparison& ceiling);

// Tables for each pair of devices. With many pairs, unchanged ceilings are only counted.
std::string compare_text(const CompareResult& result, const ShowOptions& options);

// The same as a document (schema "peakline-comparison", version 2).
std::string compare_json(const CompareResult& result);

}  // namespace peakline

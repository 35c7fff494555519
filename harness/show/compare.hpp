#pragma once

#include <string>

#include "harness/judge/comparison.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// The grounds of the verdict, in a few words: "no loss above 3 % in any figure".
std::string main_point(const CompareResult& result);

// Says what changed along with a ceiling's value: its rate per clock, clock, power, or the method
// of measuring. Empty: nothing that is known.
std::string explanation(const CeilingComparison& ceiling);

struct CompareView {
  bool all = false;   // every figure, not only what deviates
  bool gate = false;  // the verdict is that of the gate: PASS or FAIL
};
// The verdict in a line of at most 80 columns, the reasons, and what deviates on each pair of
// devices.
std::string compare_text(const CompareResult& result, const CompareView& view,
                         const ShowOptions& options);

// The same as a document (schema "peakline-comparison", version 2).
std::string compare_json(const CompareResult& result);

}  // namespace peakline

#pragma once

#include <string>

#include "harness/judge/comparison.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// The verdict's reason: "node8 is as fast as node7: 12 figures equal".
std::string main_point(const CompareResult& result);

// Changes along with a ceiling: rate per clock, clock, power, or method; "" if none are known.
std::string explanation(const CeilingComparison& ceiling);

struct CompareView {
  bool all = false;   // not only figures that deviate
  bool gate = false;  // print the gate's verdict, PASS or FAIL
};
// The verdict in one line, reasons, and deviations by pair of devices.
std::string compare_text(const CompareResult& result, const CompareView& view,
                         const ShowOptions& options);

}  // namespace peakline

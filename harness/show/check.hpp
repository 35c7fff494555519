#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/check.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// The verdict's reason: device and groups, or the worst rule. count: mention an unknown GPU count.
std::string check_sentence(const Checks& checks, bool count = true);
// Verdict and reason, in one line.
std::string check_line(const Checks& checks, bool count = true);
// Advice after a verdict other than a clean pass, for the profile FILE; else "".
std::string check_advice(const Checks& checks);

// check_line(), then a line per rule that does not pass, or per rule (all).
std::string check_text(const Checks& checks, bool all, const ShowOptions& options);
// A rule's comparison and the origin of its limit; "" if no device has it.
std::string explained_rule(const Checks& checks, std::string_view name, std::size_t width);
// Names of all rules, without their device.
std::vector<std::string> rule_names(const Checks& checks);

}  // namespace peakline

#pragma once

// The first line, verdict and reason: at most 120 columns, for schedulers and monitors.

#include <string>
#include <string_view>

#include "harness/judge/rules.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// Ends in a newline. The word is capitalized.
std::string verdict_line(std::string_view word, Style style, std::string_view text);
// PASS, WARN, FAIL or CANNOT JUDGE.
std::string verdict_line(Outcome verdict, std::string_view text);

// Without text.
std::string verdict_word(Outcome verdict);

}  // namespace peakline

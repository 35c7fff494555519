#pragma once

// The first line of what is judged: the verdict, then what it rests on; at most 120 columns, so
// that it fits a scheduler's reason or a monitor's status.

#include <string>
#include <string_view>

#include "harness/judge/rules.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// Ends in a newline. The word is printed in capitals.
std::string verdict_line(std::string_view word, Style style, std::string_view text);
// The word is PASS, WARN, FAIL or CANNOT JUDGE.
std::string verdict_line(Outcome verdict, std::string_view text);

// The word alone.
std::string verdict_word(Outcome verdict);

}  // namespace peakline

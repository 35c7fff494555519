#pragma once

// The first line, verdict and reason, never cut: who fails, what, how much more, who passes.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/rules.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// Ends in a newline. The word is capitalized.
std::string verdict_line(std::string_view word, Style style, std::string_view text);
// PASS, WARN, FAIL or CANNOT JUDGE.
std::string verdict_line(Outcome verdict, std::string_view text);

// "node2 gpu0 (H100)"; machine and model may be empty.
std::string who(std::string_view machine, std::string_view device, std::string_view model);
// "; the other 5 GPUs pass", or "; 3 of 5 other GPUs pass; 1 cannot be judged: gpu2; 1 with a
// warning: gpu4", without those that are as bad as the verdict. others: by name.
std::string others_pass(Outcome verdict, const std::map<std::string, Outcome>& others);

// "; 2 more machines fail: node3, node4", "; 1 more GPU cannot be judged: gpu1"; "" for none, or
// where the verdict is better. noun: of the names.
std::string as_bad(Outcome verdict, std::string_view noun, const std::vector<std::string>& names);

// Without text.
std::string verdict_word(Outcome verdict);

}  // namespace peakline

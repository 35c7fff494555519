#pragma once

// The first line, verdict and reason, never cut: who fails, what, how much more, who passes.

#include <string>
#include <string_view>
#include <utility>
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
// The other devices: "; 2 more GPUs fail: node3 gpu0, node3 gpu1; 3 of 5 other GPUs pass; 1
// cannot be judged: node4 gpu2; 1 with a warning: ...", "; the other 5 GPUs pass". others: GPUs,
// whose names may be the same; as_bad: names of further devices, such as a machine's links, with
// the same verdict.
std::string of_others(Outcome verdict, std::vector<std::pair<std::string, Outcome>> others,
                      std::vector<std::string> as_bad);

// Without text.
std::string verdict_word(Outcome verdict);

}  // namespace peakline

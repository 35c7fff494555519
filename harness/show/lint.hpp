#pragma once

#include <span>
#include <string>

#include "harness/judge/lint.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline {

// Describes what a file's rules would judge. file: its name.
std::string lint_text(const std::string& file, std::span<const LintedRule> rules,
                      const ShowOptions& options);

}  // namespace peakline

#pragma once

#include <span>
#include <string>

#include "harness/judge/lint.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {

// Tells what each rule of a file would judge. file: its name.
std::string lint_text(const std::string& file, std::span<const LintedRule> rules,
                      const ShowOptions& options);

}  // namespace peakline

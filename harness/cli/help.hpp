#pragma once

// What --help prints: options by group, wrapped at the terminal's width.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace peakline::bench {

std::shared_ptr<CLI::FormatterBase> help_formatter();

// "-o,--output FILE|DIR/", "--quick", "PROFILE...".
std::string option_text(const CLI::Option& option);
// The description, with the default value.
std::string option_description(const CLI::Option& option);

// A line below the options: prose, or an example, which begins with blanks.
struct FooterLine {
  bool is_example;
  std::string text;
};
std::vector<FooterLine> footer_lines(const CLI::App& command);

// Options that are added from here on belong to this group of the help.
void begin_options(CLI::App& command, const std::string& group);

}  // namespace peakline::bench

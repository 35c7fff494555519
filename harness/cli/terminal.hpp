#pragma once

#include <string>

#include "harness/show/text_table.hpp"

namespace peakline::bench {

// Prints a result to stdout and returns `code`, or reports failure and returns kExitUsage. A closed
// pipe, as by `head`, is no failure.
int print(const std::string& text, int code);

// "peakline: " and the message, as one line on stderr.
void note(std::string message);
int fail(int code, std::string message);

// For stdout: whether to use color, and its columns, at least what tables need.
ShowOptions terminal_options();

}  // namespace peakline::bench

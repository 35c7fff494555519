#pragma once

#include <string>
#include <string_view>

#include "harness/run/exit_codes.hpp"
#include "harness/show/terminal_text.hpp"

namespace peakline::bench {

// Prints a result to stdout and returns `code`, or reports failure and returns `unwritable`. A
// closed pipe, as by `head`, is no failure.
int print(const std::string& text, int code, int unwritable = kExitUsage);

// The exit code for bad usage and unreadable files by a convention of --exit-codes: Nagios takes
// kExitUsage for a critical state.
inline constexpr const char* kNagios = "nagios";
int usage_code(std::string_view convention);

// "peakline: " and the message, as one line on stderr.
void note(std::string message);
int fail(int code, std::string message);

// For stdout: whether to use color, and its columns, at least what tables need.
ShowOptions terminal_options();

}  // namespace peakline::bench

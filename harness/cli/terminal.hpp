#pragma once

#include <cstddef>
#include <string>

namespace peakline::bench {

// Writes a command's result to stdout and returns `code`; where that fails, says why and returns
// kExitUsage. A reader that has seen enough, as `head` has, is no failure.
int print(const std::string& text, int code);

// Says on stderr, in one line, why the command failed, and returns `code`.
int fail(int code, std::string message);

// For text on stdout: whether a color terminal is there and wanted, and its columns, at least as
// many as the tables need.
bool color_wanted();
std::size_t terminal_width();

}  // namespace peakline::bench

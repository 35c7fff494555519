#pragma once

// What code says: the width of its lines, and the messages of its errors.

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

#include "harness/show/terminal_text.hpp"

namespace peakline {

inline std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, text_width(line));
  return widest;
}

// The message of the Error that `call` throws; "no error" without one.
template <class Error, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace peakline

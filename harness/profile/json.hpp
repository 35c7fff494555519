#pragma once

// Single values as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/values/text.hpp"

namespace peakline::profile_format {

// Invalid UTF-8, for example in process names, becomes U+FFFD.
inline std::string json(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::size_t size = well_formed(text);
    for (const char c : text.substr(0, size)) {
      if (c == '"' || c == '\\') quoted += '\\';
      if (static_cast<unsigned char>(c) >= 0x20)
        quoted += c;
      else
        quoted += fmt::format("\\u{:04x}", static_cast<int>(c));
    }
    if (size < text.size()) quoted += "\xEF\xBF\xBD";
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return quoted + '"';
}
std::string json(std::integral auto value) { return fmt::format("{}", value); }
inline std::string json(double value) {
  // Integers without ".0": saves 20 % of a profile.
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers)
    return json(static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

}  // namespace peakline::profile_format

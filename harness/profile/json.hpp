#pragma once

// JSON values that are made here, to be written; document.hpp has those that are read.

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace peakline::profile_format {

// Keeps keys in the order in which they were declared, which params and launch depend on.
using json = nlohmann::ordered_json;

// Prints on one line. Text that is not UTF-8 (names of hosts and processes need not be) becomes
// U+FFFD.
inline std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Single values as they are written.
inline json as_written(const auto& value) { return value; }
// Whole numbers (bytes, Hz) without the ".0" that says nothing: a fifth of a profile.
inline json as_written(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers)
    return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace peakline::profile_format

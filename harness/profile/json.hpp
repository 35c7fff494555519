#pragma once

// JSON values for writing; document.hpp has those for reading.

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace peakline::profile_format {

// Keeps the order of keys, which params and launch depend on.
using json = nlohmann::ordered_json;

// One line. Invalid UTF-8, for example in process names, becomes U+FFFD.
inline std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Single values as written.
inline json as_written(const auto& value) { return value; }
// Integers without ".0": saves 20 % of a profile.
inline json as_written(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers)
    return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace peakline::profile_format

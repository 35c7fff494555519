#pragma once

// JSON values that are made here, to be written; document.hpp has those that are read.

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

}  // namespace peakline::profile_format

#pragma once

// One structure of a profile on a line, and back: what a reader makes of it. Throws ProfileError.

#include <string>
#include <string_view>

#include "harness/profile/profile.hpp"

namespace peakline::profile_format {

template <class T>
std::string to_line(const T& row);
inline std::string to_line(const DeviceFacts& facts) { return to_json_line(facts); }

template <class T>
T from_line(std::string_view line, std::string_view name);  // name: for messages

}  // namespace peakline::profile_format

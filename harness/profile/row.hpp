#pragma once

// Single structures of a profile as JSON and back, as they stand in the file.

#include <string_view>

#include "harness/profile/document.hpp"
#include "harness/profile/json.hpp"

namespace peakline::profile_format {

// Throws ProfileError for a number that JSON cannot say, of a field that has to be there. T:
// Measurement, a row of a profile, or facts.
template <class T>
json encoded(const T& structure);

// Throws ProfileError, beginning with `name`, for what breaks a rule.
template <class T>
T decoded(std::string_view text, std::string_view name);
template <class T>
T decoded(const Value& object, std::string_view name);

}  // namespace peakline::profile_format

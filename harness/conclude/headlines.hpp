#pragma once

#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// Reason for a figure that was not attempted.
inline constexpr std::string_view kNotMeasured = "not measured in this run";

// Headline figures per measured device, most important first; from profile.ceilings and
// profile.missing_ceilings.
std::vector<Headline> derive_headlines(const Profile& profile);

}  // namespace peakline

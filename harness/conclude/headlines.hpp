#pragma once

#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// Reason for a figure that was not attempted.
inline constexpr std::string_view kNotTried = "not measured in this run";

// Headline figures per measured device, most important first; from profile.ceilings and
// profile.missing_ceilings.
std::vector<Headline> derive_headlines(const Profile& profile);

// Gives resources and headlines of a profile by another version of the program the labels of this
// one. Those that it does not know keep theirs.
void use_own_labels(Profile& profile);

}  // namespace peakline

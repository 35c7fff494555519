#pragma once

#include <string_view>
#include <vector>

#include "harness/values/profile.hpp"

namespace peakline {

// Why there is no figure where none was tried for.
inline constexpr std::string_view kNotMeasured = "not measured in this run";

// The few figures that stand at the top, for each device that was measured, what matters most
// first; from profile.ceilings and profile.missing_ceilings.
std::vector<Headline> derive_headlines(const Profile& profile);

// Gives resources and headlines of a profile by another version of the program the labels of this
// one. Those that it does not know keep theirs.
void use_own_labels(Profile& profile);

}  // namespace peakline

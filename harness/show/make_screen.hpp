#pragma once

#include "harness/show/screen.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Checks;  // harness/show/check.hpp

// checks: those of this profile.
Screen make_screen(const Profile& profile, const Checks& checks);

}  // namespace peakline

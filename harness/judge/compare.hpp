#pragma once

// Two sets of profiles, from before and after a change or from two machines: what became faster or
// slower, by how much, and what may explain it. Pure functions.
//
// two_sides.hpp has the rule of a verdict, gate.cpp what a gate does not let pass.

#include <span>

#include "harness/judge/comparison.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Devices are paired by UUID; what is left by index and name, all runs together; what is left then
// by index alone (different models). Linear in the number of profiles.
CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options);

}  // namespace peakline

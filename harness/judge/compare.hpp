#pragma once

// Compares two sets of profiles, from before and after a change or from two machines: what became
// faster or slower, by how much, and possible causes. Pure functions.
//
// two_sides.hpp has the rule of verdicts, gate.cpp the reasons of a gate.

#include <span>

#include "harness/judge/comparison.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Pairs devices by UUID, the rest by index and name, and what then remains by index (different
// models). Linear in the number of profiles.
CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options);

// A lean is that of all figures of the devices; nullopt: none lean, or too few are inconclusive to
// say so.
std::optional<Lean> lean_of(std::span<const DeviceComparison> devices, double threshold);

}  // namespace peakline

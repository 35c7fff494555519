#pragma once

// These pure functions lead from measurements to ceilings and rooflines.

#include <span>
#include <string_view>
#include <vector>

#include "harness/values/benchmark.hpp"
#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Ceilings {
  std::vector<Ceiling> rows;
  std::vector<MissingCeiling> missing;
  std::vector<Resource> resources;  // those that occur, in the order shown
};

// Every ceiling that the measurements and the device facts support, grouped by device, resources in
// the order shown, bases in the order theoretical, datasheet, instruction, measured, burst,
// sustained, model_burst, model_shaped; and those that were tried for in vain. Measurements
// that are not sound or have fewer than three blocks give none. Of several, the highest of those
// that were sampled with the full rule. kept: as in with_conclusions().
Ceilings derive_ceilings(const Profile& profile, Benchmarks benchmarks,
                         std::span<const Population> kept = {});

// One per device that has at least one memory and one compute ceiling among profile.ceilings. Ridge
// points: compute ceiling / bandwidth ceiling, for the measured, burst and sustained bases.
std::vector<Roofline> derive_rooflines(const Profile& profile, Benchmarks benchmarks);

// The resource of that name that the profile carries; nullptr where it has none.
const Resource* find_resource(const Profile& profile, std::string_view name);

}  // namespace peakline

#pragma once

// From measurements to ceilings and rooflines; pure functions.

#include <span>
#include <string_view>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct Ceilings {
  std::vector<Ceiling> rows;
  std::vector<MissingCeiling> missing;
  std::vector<Resource> resources;  // those that occur, in display order
};

// All ceilings that measurements and facts support, by device, resource (display order) and basis
// (theoretical, datasheet, instruction, measured, burst, sustained, model_burst, model_shaped), and
// those attempted in vain. The highest sound measurement counts, full-rule ones first. kept: as in
// with_conclusions().
Ceilings derive_ceilings(const Profile& profile, Benchmarks benchmarks,
                         std::span<const Population> kept = {});

// One per device with a memory and a compute ceiling. Ridge points: compute / bandwidth, for the
// measured, burst and sustained bases.
std::vector<Roofline> derive_rooflines(const Profile& profile, Benchmarks benchmarks);

// nullptr if the profile lacks it.
const Resource* find_resource(const Profile& profile, std::string_view name);

}  // namespace peakline

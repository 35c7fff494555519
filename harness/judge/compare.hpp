#pragma once

// Two sets of profiles, from before and after a change or from two machines: what became faster or
// slower, by how much, and what may explain it. Pure functions.
//
// judgement.hpp has the rule of a verdict, gate.cpp what a gate does not let pass.

#include <span>
#include <string>
#include <vector>

#include "harness/judge/comparison.hpp"
#include "harness/values/population.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

struct CompareOptions {
  // The relative change that matters. A loss has to lie a good deal beyond it to be found, by up to
  // 1 % of a burst with one run a side: 2 % finds losses of 3 %.
  double threshold = 0.02;
  std::vector<std::string> allowed = {};  // names of the gate's reasons that are excused
  // How cards of a model scatter; without any, two cards are judged as one.
  std::span<const Population> populations = {};
  // How runs of a card at this site differ, from runs that were kept (repeatability --write).
  std::span<const Population> kept = {};
};

// Devices are paired by UUID; what is left by index and name, all runs together; what is left then
// by index alone (different models). Linear in the number of profiles.
CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options);

}  // namespace peakline

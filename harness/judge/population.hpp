#pragma once

// What healthy cards measure, from runs of several of them, and the yardsticks that follow.
//
//   - A card's figure is the median of its runs. The level of the cards is that window, of 3 % or
//     six deviations of the class, that holds most of them; of equal windows the upper one, since
//     faults only slow. Cards below the engine's limit of the others, or as far above, are left
//     out whole, by name.
//   - Where the cards of the window lie around two levels, far apart beside their scatter around
//     them, the lower one's median counts and the scatter within a level: either is healthy.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/card_runs.hpp"

namespace peakline {

// There is one for each model, facts and mode, in the order of their first runs. What a run does
// not know is taken from the other runs; runs whose facts contradict each other are of different
// populations.
std::vector<Population> populations_of(std::span<const CardRun> runs);

// "GPU-1f2e3d4c (hbm.read/measured -5.0 %)"
std::string text_of(const LeftOutCard& card);

// That of runs in one mode which are taken to be of one model, whatever their facts; at least one.
Population population_of(const CardFacts& facts, std::span<const CardRun* const> runs);

// The populations of runs_of_gpus() with the same arguments.
std::vector<Population> populations_of_gpus(std::span<const Profile* const> profiles,
                                            const std::set<std::string>& without = {},
                                            const std::map<std::string, std::string>& faults = {});

}  // namespace peakline

#pragma once

// Populations: what healthy cards measure, from runs of several of them.
//
//   - A card's figure is the median of its runs. The level is the window (3 %, or six deviations of
//     the class) that holds most cards; the upper one of equals, as faults only slow. Cards below
//     the engine's limit of the others, or as far above, are excluded as a whole, by name.
//   - If the window's cards form two distant levels, either is healthy: the lower one's median
//     counts, and the scatter within a level.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/card_runs.hpp"

namespace peakline {

// One per model, facts and mode, in the order of first runs. Unknown facts are completed from other
// runs; runs with contradictory facts form different populations.
std::vector<Population> populations_of(std::span<const CardRun> runs);

// "GPU-1f2e3d4c (hbm.read/measured -5.0 %)"
std::string text_of(const LeftOutCard& card);

// Treats runs (one mode, at least one run) as one model, whatever their facts.
Population population_of(const CardFacts& facts, std::span<const CardRun* const> runs);

// The populations of runs_of_gpus() with these arguments.
std::vector<Population> populations_of_gpus(std::span<const Profile* const> profiles,
                                            const std::set<std::string>& without = {},
                                            const std::map<std::string, std::string>& faults = {});

}  // namespace peakline

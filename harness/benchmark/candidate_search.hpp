#pragma once

// Finds the fastest of several ways to do the same work.

#include <cstddef>
#include <functional>
#include <vector>

#include "harness/cuda/sampler.hpp"
#include "harness/statistics/search.hpp"

namespace peakline::bench {

// Says what a search compares.
struct SearchCost {
  // The work of candidate i, if it differs between candidates: the highest rate wins.
  std::function<double(std::size_t)> work_of = {};
  // Compare cycles instead of seconds, where the clock can be read: for work bound by the SM clock.
  bool in_cycles = false;
  // The first of those that cost at most so much more than the least wins.
  double tolerance = kEqualWithin;
};

// The cost of shapes that read an SM's own memory. With less tolerance, close shapes would take
// turns from run to run; and so they would by seconds, as the clock of an H200 moves by 0.8 %
// during a search.
inline SearchCost cost_on_chip() { return {.in_cycles = true, .tolerance = 0.005}; }

// How long a search may take.
struct SearchTime {
  double warm_up_s = 0;  // of the first candidate
  double seconds = 0;    // then the best so far wins
};

// Returns all candidates, cheapest first; a single one is not timed. Throws std::invalid_argument
// if there is none, and whatever a launch throws.
std::vector<std::size_t> rank_candidates(cuda::Sampler& sampler, std::size_t count,
                                         const std::function<cuda::Launch(std::size_t)>& launch_of,
                                         const SearchTime& time, const SearchCost& cost);

}  // namespace peakline::bench

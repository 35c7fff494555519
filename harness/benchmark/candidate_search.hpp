#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "harness/cuda/sampler.hpp"
#include "harness/statistics/search.hpp"

namespace peakline::bench {

struct SearchCost {
  // Work of candidate i, if it differs: the highest rate wins.
  std::function<double(std::size_t)> work_of = {};
  // Compare cycles where the clock is readable: for work bound by the SM clock.
  bool in_cycles = false;
  // The first candidate within this share of the least cost wins.
  double tolerance = kEqualWithin;
};

// For shapes that read an SM's own memory. Smaller tolerances, or seconds (an H200's clock moves by
// 0.8 % during a search), would make close shapes alternate between runs.
inline SearchCost cost_on_chip() { return {.in_cycles = true, .tolerance = 0.005}; }

struct SearchTime {
  double warm_up_s = 0;  // for the first candidate
  double seconds = 0;    // then the best so far wins
};

// All candidates, cheapest first; a single one is not timed. Throws std::invalid_argument without
// candidates, and what a launch throws.
std::vector<std::size_t> rank_candidates(cuda::Sampler& sampler, std::size_t count,
                                         const std::function<cuda::Launch(std::size_t)>& launch_of,
                                         const SearchTime& time, const SearchCost& cost);

}  // namespace peakline::bench

#pragma once

// Which of several ways to do the same work is the fastest.

#include <cstddef>
#include <functional>
#include <vector>

#include "harness/cuda/sampler.hpp"

namespace peakline::bench {

// What a search compares.
struct SearchCost {
  // The work of candidate i, where it differs between them: the highest rate wins.
  std::function<double(std::size_t)> work_of = {};
  // For work bound by the SM clock.
  bool in_cycles = false;
};

// How long a search may take.
struct SearchTime {
  double warm_up_s = 0;  // of the first candidate
  double seconds = 0;    // then it settles for the best so far
};

// All candidates, the one of the least cost first; a single one is not timed. Throws
// std::invalid_argument where there is none, and what a launch throws.
std::vector<std::size_t> rank_candidates(cuda::Sampler& sampler, std::size_t count,
                                         const std::function<cuda::Launch(std::size_t)>& launch_of,
                                         const SearchTime& time, const SearchCost& cost);

}  // namespace peakline::bench

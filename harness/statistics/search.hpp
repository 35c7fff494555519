#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace peakline {

// Repeated timings of a candidate differ by this much.
inline constexpr double kEqualWithin = 0.002;

struct SearchResult {
  std::size_t winner = 0;
  std::vector<std::size_t> ranking;  // candidates that ran, the winner first
  std::size_t tried = 0;             // candidates timed
  double best_time_s = 0;            // biased low by the search: measure the winner again
};

// Finds the fastest of `count` candidates by successive halving: short timings for all, longer ones
// for fewer and fewer. Among candidates equal within the tolerance, the first in the list wins.
// time_s(i, samples): median seconds of candidate i for equal work; infinity if it cannot run.
// out_of_time(): true once the search must settle for the best so far.
// Throws std::runtime_error if no candidate can run.
SearchResult search(std::size_t count,
                    const std::function<double(std::size_t i, std::size_t samples)>& time_s,
                    const std::function<bool()>& out_of_time, double tolerance = kEqualWithin);

// The index of the first cost within (1 + tolerance) of the least, so that ties are resolved the
// same way each time. Throws std::runtime_error if no cost is finite.
std::size_t first_within(std::span<const double> costs, double tolerance);

}  // namespace peakline

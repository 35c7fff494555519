#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace peakline {

// Repeated timings of one candidate differ by this much.
inline constexpr double kEqualWithin = 0.002;

struct SearchResult {
  std::size_t winner = 0;
  std::vector<std::size_t> ranking;  // all that could run, the winner first
  std::size_t tried = 0;             // candidates that were timed
  double best_time_s = 0;            // of the search itself: biased low, so measure the winner anew
};

// The fastest of `count` candidates by successive halving: every candidate gets one short timing,
// then fewer and fewer get longer ones, and one that is far behind is dropped at once. Of those
// that are equal within a tolerance the first in the list wins.
//   time_s(i, samples): median seconds of candidate i over `samples` samples, for equal work;
//     infinity where it cannot run.
//   out_of_time(): true once the search must settle for the best so far.
// Throws std::runtime_error where no candidate can run.
SearchResult search(std::size_t count,
                    const std::function<double(std::size_t i, std::size_t samples)>& time_s,
                    const std::function<bool()>& out_of_time, double tolerance = kEqualWithin);

// The index of the first cost that is at most (1 + tolerance) times the least, so that the choice
// among equals is the same each time. Throws std::runtime_error where no cost is finite.
std::size_t first_within(std::span<const double> costs, double tolerance);

}  // namespace peakline

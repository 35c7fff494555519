#include "harness/statistics/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace peakline {
namespace {

struct Round {
  std::size_t samples;  // per remaining candidate
  double keep_within;   // of the best; the first cut is wide, as few samples are noisy
  std::size_t keep_most;
};
constexpr std::array<Round, 3> kRounds{{{2, 1.10, 16}, {5, 1.03, 6}, {15, 1.0, 1}}};

}  // namespace

std::size_t first_within(std::span<const double> costs, double tolerance) {
  const double least = costs.empty() ? INFINITY : std::ranges::min(costs);
  if (!std::isfinite(least))
    throw std::runtime_error("none of " + std::to_string(costs.size()) + " candidates can run");
  const auto first =
      std::ranges::find_if(costs, [&](double cost) { return cost <= (1 + tolerance) * least; });
  return static_cast<std::size_t>(first - costs.begin());
}

SearchResult search(std::size_t count,
                    const std::function<double(std::size_t i, std::size_t samples)>& time_s,
                    const std::function<bool()>& out_of_time, double tolerance) {
  std::vector<std::size_t> in(count);
  std::iota(in.begin(), in.end(), std::size_t{0});
  std::vector<double> best_s(count, INFINITY);
  SearchResult result;
  for (const Round& round : kRounds) {
    std::vector<double> round_s(count, INFINITY);
    for (const std::size_t i : in) {
      if (out_of_time() && std::isfinite(result.best_time_s) && result.tried > 0) break;
      round_s[i] = time_s(i, round.samples);
      result.tried += round.samples == kRounds.front().samples;
    }
    // Candidates that this round did not reach keep their earlier time.
    for (const std::size_t i : in)
      if (std::isfinite(round_s[i])) best_s[i] = round_s[i];
    std::vector<double> in_s(count, INFINITY);
    for (const std::size_t i : in) in_s[i] = best_s[i];
    result.winner = first_within(in_s, tolerance);
    result.best_time_s = std::ranges::min(in_s);
    // Ties keep the list's order, so that the cut by number never drops the first of them.
    const double equal_s = (1 + tolerance) * result.best_time_s;
    const auto order = [&](std::size_t i) {
      return std::pair(best_s[i] <= equal_s ? 0.0 : best_s[i], i);
    };
    std::ranges::sort(in, {}, order);
    const double limit = round.keep_within * result.best_time_s;
    std::erase_if(in, [&](std::size_t i) { return best_s[i] > limit; });
    in.resize(std::min(in.size(), round.keep_most));
  }
  std::vector<std::size_t>& ranking = result.ranking;
  for (std::size_t i = 0; i < count; ++i)
    if (std::isfinite(best_s[i])) ranking.push_back(i);
  // Only the last round times candidates well enough to pick a winner.
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(a != result.winner, best_s[a]) < std::pair(b != result.winner, best_s[b]);
  });
  return result;
}

}  // namespace peakline

#include "bench/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace peakline::bench {

std::string pair_name(const GpuPair& pair) { return fmt::format("{}-{}", pair.first, pair.second); }

std::vector<std::vector<GpuPair>> pair_rounds(const std::vector<int>& gpus) {
  constexpr int kNobody = -1;
  std::vector<int> seats = gpus;
  if (seats.size() % 2 != 0) seats.push_back(kNobody);
  std::vector<std::vector<GpuPair>> rounds;
  for (std::size_t round = 1; round < seats.size(); ++round) {
    std::vector<GpuPair>& pairs = rounds.emplace_back();
    for (std::size_t i = 0; i < seats.size() / 2; ++i) {
      const auto [low, high] = std::minmax(seats[i], seats[seats.size() - 1 - i]);
      if (low != kNobody) pairs.emplace_back(low, high);
    }
    // The first seat stays, the others move on by one.
    std::rotate(seats.begin() + 1, seats.end() - 1, seats.end());
  }
  return rounds;
}

std::vector<Point> pair_points(const std::vector<int>& gpus, bool directed, const Point& like) {
  std::vector<Point> points;
  int round = 1;
  for (const auto& pairs : pair_rounds(gpus)) {
    for (const bool back : {false, true}) {
      if (back && !directed) continue;
      for (const auto& [low, high] : pairs) {
        const GpuPair pair = back ? GpuPair{high, low} : GpuPair{low, high};
        Point& point = points.emplace_back(like);
        point.params.insert(point.params.begin(), {"pair", pair_name(pair)});
        point.gpus = {pair.first, pair.second};
        point.round = pairs.size() > 1 ? round : 0;
      }
      ++round;
    }
  }
  return points;
}

std::vector<Point> concurrent_points(const std::vector<int>& gpus, const Point& like,
                                     bool one_alone) {
  std::vector<Point> points;
  const auto add = [&](int gpu, bool all) {
    Point& point = points.emplace_back(like);
    point.params.insert(point.params.begin(), {{"gpu", std::int64_t{gpu}},
                                               {"beside", std::string(all ? "all" : "none")}});
    point.gpus = {gpu};
    point.round = all ? 1 : 0;
    point.whole_round = all;
  };
  // Points on all GPUs come first, since their set-up then runs at once.
  for (const int gpu : gpus) add(gpu, true);
  if (one_alone) add(gpus.front(), false);
  return points;
}

}  // namespace peakline::bench

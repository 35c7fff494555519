#include "harness/benchmark/load_points.hpp"

#include <string>

#include "harness/conclude/sittings.hpp"

namespace peakline::bench {
namespace {

// The rest before a train keeps the mean load at a third, far below the power cap; insufficient
// rests become longer. On an H200, rests of 0.03 s raise rates by 0.1 %, and rests of 0.05 to 0.5 s
// change them by less than 0.5 %.
constexpr Trains kFull{.count = 10, .rest_s = 0.02};
// The fewest trains with a 95 % interval: for many points, and quick mode.
constexpr Trains kBrief{.count = 6, .rest_s = 0.02};
// Single instructions vary more than GEMMs: trains by up to 1.5 % within a sitting on H200s, INT8
// by 0.5 % between sittings.
constexpr Trains kLong{.count = 24, .rest_s = 0.02};

}  // namespace

Trains trains_of(Timing timing, bool quick) {
  if (quick || timing == Timing::kBrief) return kBrief;
  return timing == Timing::kLongBurst ? kLong : kFull;
}

double seconds_of(const Trains& trains, std::size_t sittings) {
  return (trains.count + static_cast<int>(sittings) * kFirstTrains) *
         (trains.rest_s + kTrainSeconds);
}

double seconds_of_sustained_point(double counted_s) { return kSettleSeconds + counted_s + 0.2; }

std::vector<Point> load_points(double load_s) {
  return {{.params = {{"load", std::string("burst")}},
           .phase = Phase::kBurst,
           .timing = Timing::kBurst,
           .quick = true,
           .seconds = seconds_of(trains_of(Timing::kBurst, false), kSittings)},
          {.params = {{"load", std::string("sustained")}},
           .phase = Phase::kSustained,
           .timing = Timing::kSustained,
           .quick = false,
           .seconds = seconds_of_sustained_point(load_s),
           .load_s = load_s}};
}

Point long_burst_point(bool quick) {
  return {.params = {},
          .phase = Phase::kBurst,
          .timing = Timing::kLongBurst,
          .quick = quick,
          .seconds = seconds_of(trains_of(Timing::kLongBurst, false), kLongBurstSittings) + 0.2};
}

}  // namespace peakline::bench

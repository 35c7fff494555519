#include "harness/judge/engine.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/statistics/statistics.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Scatter beyond so many times the class's is not believed.
constexpr double kMostScatter = 2;
constexpr double kMostScatterOfOwnRuns = 2.5;

double moderated(double usual, double seen, std::size_t degrees, double most) {
  const auto n = static_cast<double>(degrees);
  const double variance = (kClassDegrees * usual * usual + n * seen * seen) / (kClassDegrees + n);
  return std::min(std::sqrt(variance), most * usual);
}

// Quantiles of a run's figures are few, and take longer than all else.
double quantile_of(double tail, std::size_t degrees) {
  thread_local std::map<std::pair<double, std::size_t>, double> known;
  const auto [found, added] = known.try_emplace({tail, degrees});
  if (added) found->second = student_quantile(tail, degrees);
  return found->second;
}

bool knows_level(const Yardstick& y) {
  return y.kind == YardstickKind::kPrior || y.kind == YardstickKind::kFloor;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  return name_of({"pass", "excused", "warn", "cannot_judge", "fail"}, outcome);
}

std::string_view to_string(YardstickKind kind) {
  return name_of({"own_runs", "population", "peers", "prior", "floor"}, kind);
}

double limit_by(const Yardstick& y, const Reading& reading, double tail, double* deviations) {
  if (y.kind == YardstickKind::kFloor) return y.centre;
  const UsualSpread& usual = *reading.usual;
  const bool own_runs = y.kind == YardstickKind::kOwnRuns;
  const double most = own_runs ? kMostScatterOfOwnRuns : kMostScatter;
  const auto n = static_cast<double>(std::max<std::size_t>(y.cards, 1));
  const double cards =
      own_runs ? 0 : moderated(usual.between_cards, y.between_cards, y.cards - 1, most);
  const double runs = moderated(usual.run_to_run, y.between_runs, y.run_degrees, most);
  const double scatter =
      std::sqrt(cards * cards * (1 + 1 / n) + runs * runs * (own_runs ? 1 + 1 / n : 1) +
                reading.own * reading.own);
  const double q = quantile_of(tail, kClassDegrees + (own_runs ? y.run_degrees : y.cards - 1));
  const double least = -std::log1p(-(
      y.cards < kFewCards && !own_runs ? std::max(reading.least, kLeastLossOfFew) : reading.least));
  if (deviations != nullptr) *deviations = q * scatter > least ? q : 0;
  return y.centre * std::exp(-std::max(least, q * scatter) + std::log1p(-y.margin));
}

Assessment judge(const Reading& reading, std::span<const Yardstick> yardsticks, std::size_t figures,
                 double budget) {
  const double tail = budget / static_cast<double>(std::max<std::size_t>(figures, 1));
  double level = 0;
  for (const Yardstick& y : yardsticks)
    if (knows_level(y)) level = std::max(level, limit_by(y, reading, tail));
  Assessment result;
  for (const Yardstick& y : yardsticks) {
    if (!knows_level(y) && y.centre < level) {
      result.distrusted = y.source;
      continue;
    }
    double deviations = 0;
    const double limit = limit_by(y, reading, tail, &deviations);
    result.vouched = result.vouched || (y.may_pass && y.kind != YardstickKind::kFloor &&
                                        limit >= (1 - kWidestLimit) * y.centre);
    if (!y.may_fail || (result.limit && limit <= *result.limit)) continue;
    result.limit = limit;
    result.by = y;
    result.deviations = deviations;
  }
  if (result.limit && reading.value < *result.limit)
    result.outcome = Outcome::kFail;
  else if (std::ranges::any_of(yardsticks, [](const Yardstick& y) { return y.may_pass; }))
    result.outcome = result.limit ? Outcome::kPass : Outcome::kCannotJudge;
  else if (result.limit && result.by.kind == YardstickKind::kPeers)
    result.outcome = Outcome::kWarn;
  return result;
}

}  // namespace peakline

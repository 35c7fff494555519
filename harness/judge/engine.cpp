#include "harness/judge/engine.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/statistics/statistics.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// In multiples of the class's scatter; more is not believed.
constexpr double kMostScatter = 2;
constexpr double kMostScatterOfOwnRuns = 2.5;

double moderated(double usual, double seen, std::size_t degrees) {
  const auto n = static_cast<double>(degrees);
  return std::sqrt((kClassDegrees * usual * usual + n * seen * seen) / (kClassDegrees + n));
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

double quantile_of(double tail, std::size_t degrees) {
  // Caches quantiles, which take most of a check's time. Beyond kMostDegrees, t is normal.
  constexpr std::size_t kMostDegrees = 1000;
  thread_local std::map<std::pair<double, std::size_t>, double> known;
  const auto [found, added] = known.try_emplace({tail, std::min(degrees, kMostDegrees)});
  if (added) found->second = student_quantile(tail, found->first.second);
  return found->second;
}

Scatter scatter_about(const Yardstick& y, const Reading& reading, Belief belief) {
  const UsualSpread& usual = *reading.usual;
  const bool own_runs = y.kind == YardstickKind::kOwnRuns;
  const auto believed = [&](double scatter, double of_class) {
    const double most = (own_runs ? kMostScatterOfOwnRuns : kMostScatter) * of_class;
    return belief == Belief::kAsSeen ? scatter : std::min(scatter, most);
  };
  const auto mean_of = [](std::size_t n) { return n == 0 ? 0 : 1 / static_cast<double>(n); };
  // A prior's margin covers them.
  if (y.kind == YardstickKind::kPrior) return {.deviation = reading.own, .degrees = kClassDegrees};
  const double cards =
      y.cards == 0 ? 0
                   : believed(moderated(usual.between_cards, y.between_cards, y.card_degrees),
                              usual.between_cards) *
                         std::sqrt(1 + mean_of(y.cards));
  const double runs =
      believed(moderated(usual.run_to_run * y.unsteadiness, y.between_runs, y.run_degrees),
               usual.run_to_run) *
      std::sqrt(mean_of(reading.runs) + mean_of(y.runs));
  return {.deviation = std::hypot(cards, runs, reading.own),
          .degrees = kClassDegrees + (y.cards == 0 ? y.run_degrees : y.card_degrees)};
}

double limit_by(const Yardstick& y, const Reading& reading, double tail, Belief belief,
                double* deviations) {
  if (y.kind == YardstickKind::kFloor) return y.centre;
  const Scatter scatter = scatter_about(y, reading, belief);
  const double q = quantile_of(tail, scatter.degrees);
  const bool few = y.cards > 0 && y.card_degrees + 1 < kFewCards;
  const double least =
      -std::log1p(-(few ? std::max(reading.least, kLeastLossOfFew) : reading.least));
  if (deviations != nullptr) *deviations = q * scatter.deviation > least ? q : 0;
  return y.centre * std::exp(-std::max(least, q * scatter.deviation) + std::log1p(-y.margin));
}

Assessment judge(const Reading& reading, std::span<const Yardstick> yardsticks,
                 std::size_t figures) {
  const double tail = kFalseAlarms / static_cast<double>(std::max<std::size_t>(figures, 1));
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
    const double limit = limit_by(y, reading, tail, Belief::kLimited, &deviations);
    // A device with runs that differ this much may be healthy or not.
    const bool uneven = y.kind == YardstickKind::kOwnRuns && reading.value < limit &&
                        reading.value >= limit_by(y, reading, tail, Belief::kAsSeen);
    result.uneven = result.uneven || uneven;
    const bool may_vouch = y.may_pass && y.kind != YardstickKind::kFloor && !uneven;
    const bool too_wide = limit < (1 - kWidestLimit) * y.centre;
    result.vouched = result.vouched || (may_vouch && !too_wide);
    result.too_wide = result.too_wide || (may_vouch && too_wide);
    if (uneven || !y.may_fail || (result.limit && limit <= *result.limit)) continue;
    Reading steady = reading;
    steady.own = 0;
    result.limit = limit;
    result.by = y;
    result.deviations = deviations;
    result.widened = 1 - limit / y.centre > kWidened * (1 - limit_by(y, steady, tail) / y.centre);
  }
  result.too_wide = result.too_wide && !result.vouched;
  const bool may_pass = std::ranges::any_of(yardsticks, &Yardstick::may_pass);
  if (result.limit && reading.value < *result.limit)
    result.outcome = Outcome::kFail;
  else if (result.uneven || !result.limit)
    result.outcome = Outcome::kCannotJudge;
  else if (may_pass)
    result.outcome = Outcome::kPass;
  else if (result.by.kind == YardstickKind::kPeers)
    result.outcome = Outcome::kWarn;
  result.uneven = result.uneven && result.outcome == Outcome::kCannotJudge;
  return result;
}

}  // namespace peakline

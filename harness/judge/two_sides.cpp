#include "harness/judge/two_sides.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/judge/engine.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Two-sided 95 % of Student's t.
constexpr double kTail = 0.025;
constexpr double kMostRuns = 20;  // more are no advice
// Scatter of a healthy machine's new side over its class's, for slow_runs(). With less, noisy
// machines raise false alarms (two_sides_test.cpp); with more, 6 % of PCIe in two of three runs is
// missed (real_runs_test.cpp).
constexpr double kMostUnsteady = 2.5;

// Mean and sum of squared deviations of logarithms.
std::pair<double, double> moments(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += std::log(value) / static_cast<double>(values.size());
  for (const double value : values) squares += std::pow(std::log(value) - mean, 2);
  return {mean, squares};
}

// The old side as a yardstick. with: further runs for the spread.
Yardstick yardstick_of(const ComparedFigure& figure, const std::vector<double>& with = {}) {
  const auto [centre, base_squares] = moments(figure.base);
  const double squares =
      base_squares + moments(with).second +
      static_cast<double>(figure.kept.degrees) * std::pow(figure.kept.deviation, 2);
  const std::size_t degrees =
      figure.base.size() - 1 + std::max<std::size_t>(with.size(), 1) - 1 + figure.kept.degrees;
  return {.kind = YardstickKind::kOwnRuns,
          .centre = std::exp(centre),
          .cards = 0,
          .runs = figure.base.size(),
          .between_runs = degrees == 0 ? 0 : std::sqrt(squares / static_cast<double>(degrees)),
          .run_degrees = degrees,
          .margin = figure.offset};
}

// The class, widened for the device's model.
UsualSpread usual_of(const ComparedFigure& figure) {
  UsualSpread usual = *figure.expected;
  usual.run_to_run *= figure.widened;
  return usual;
}

// Scatter of a class's runs over the expected one, at least 1; the median ignores outliers.
using Widenings = std::map<const UsualSpread*, double>;
Widenings widenings(std::span<const ComparedFigure> figures,
                    std::span<const Yardstick> yardsticks) {
  struct Class {
    std::vector<double> ratios;
    double degrees = 0;
  };
  std::map<const UsualSpread*, Class> classes;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (!figures[i].judged) continue;
    Class& members = classes[figures[i].expected];
    if (yardsticks[i].run_degrees == 0) continue;
    const auto d = static_cast<double>(yardsticks[i].run_degrees);
    const double expected = std::pow(usual_of(figures[i]).run_to_run, 2) + figures[i].disturbance;
    // Median of chi-squared over its mean (Wilson and Hilferty).
    members.ratios.push_back(std::pow(yardsticks[i].between_runs, 2) / expected /
                             std::pow(1 - 2 / (9 * d), 3));
    members.degrees += d;
  }
  Widenings factors;
  for (const auto& [expected, members] : classes) {
    const double variance = members.ratios.empty()
                                ? 1
                                : (kClassDegrees + members.degrees * median(members.ratios)) /
                                      (kClassDegrees + members.degrees);
    factors[expected] = std::sqrt(std::max(1.0, variance));
  }
  return factors;
}

std::vector<Yardstick> yardsticks_of(std::span<const ComparedFigure> figures, bool base_alone) {
  std::vector<Yardstick> yardsticks;
  for (const ComparedFigure& figure : figures)
    yardsticks.push_back(base_alone ? yardstick_of(figure) : yardstick_of(figure, figure.next));
  return yardsticks;
}

// As for another card of the model: adds the scatter between cards.
Yardstick as_other_card(Yardstick base, const ComparedFigure& figure) {
  base.kind = YardstickKind::kPopulation;
  base.cards = 1;
  base.between_cards = figure.between_cards;
  base.card_degrees = figure.cards - 1;
  return base;
}

std::optional<std::size_t> runs_to_settle(double deviation, double quantile, double threshold,
                                          std::size_t runs) {
  const double needed = std::ceil(2 * std::pow((quantile + kNormal95) * deviation / threshold, 2));
  if (!(needed > static_cast<double>(runs)) || needed > kMostRuns) return std::nullopt;
  return static_cast<std::size_t>(needed);
}

bool within(double value, double centre, double limit) {
  return value >= limit && value <= centre / limit * centre;
}

Verdict verdict_of(const ComparedFigure& figure, const Yardstick& base, const Reading& next,
                   const Reading& believed, const Judgement& j, double tail) {
  const double seen = limit_by(base, next, tail, Belief::kAsSeen);
  if (!within(next.value, base.centre, seen)) {
    const bool of_model = figure.cards > 0 && within(next.value, base.centre,
                                                     limit_by(as_other_card(base, figure), next,
                                                              tail, Belief::kAsSeen));
    return of_model                   ? Verdict::kWithinModel
           : next.value < base.centre ? Verdict::kSlower
                                      : Verdict::kFaster;
  }
  const double most = next.least + figure.offset;
  if (j.ratio_low >= 1 - most && j.ratio_high <= 1 + most) return Verdict::kSame;
  if (figure.cards == 0 && next.value < limit_by(base, believed, tail)) return Verdict::kUneven;
  return Verdict::kInconclusive;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return name_of({"faster", "slower", "same", "inconclusive", "not_judged", "within_model",
                  "unsteady", "uneven"},
                 verdict);
}

std::vector<Judgement> judge(std::span<const ComparedFigure> figures, double threshold,
                             double false_alarms) {
  const auto count =
      static_cast<double>(std::ranges::count(figures, true, &ComparedFigure::judged));
  const double tail = false_alarms / std::max(count, 1.0);
  std::vector<Yardstick> yardsticks = yardsticks_of(figures, false);
  Widenings factors = widenings(figures, yardsticks);
  std::vector<Judgement> judgements;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const ComparedFigure& figure = figures[i];
    Yardstick& base = yardsticks[i];
    if (figure.judged) base.unsteadiness = factors[figure.expected];
    const UsualSpread usual = usual_of(figure);
    const double runs_reciprocal =
        1 / static_cast<double>(figure.base.size()) + 1 / static_cast<double>(figure.next.size());
    const Reading next = {.value = std::exp(moments(figure.next).first),
                          .runs = figure.next.size(),
                          .own = std::sqrt(figure.disturbance * runs_reciprocal),
                          .least = threshold,
                          .usual = &usual};
    const Scatter scatter = scatter_about(base, next, Belief::kAsSeen);
    const double quantile = quantile_of(kTail, scatter.degrees);
    Judgement j;
    j.ratio = next.value / base.centre;
    j.ratio_low = j.ratio * std::exp(-quantile * scatter.deviation);
    j.ratio_high = j.ratio * std::exp(quantile * scatter.deviation);
    j.runs_differ = scatter.deviation / std::sqrt(runs_reciprocal);
    Reading believed = next;
    believed.own = std::sqrt(figure.believed_disturbance * runs_reciprocal);
    j.believed_low =
        j.ratio * std::exp(-quantile * scatter_about(base, believed, Belief::kAsSeen).deviation);
    j.verdict = verdict_of(figure, base, next, believed, j, tail);
    if (j.verdict == Verdict::kInconclusive) {
      const std::size_t runs = std::max(figure.base.size(), figure.next.size());
      j.runs_to_settle = runs_to_settle(j.runs_differ, quantile, threshold, runs);
      j.threshold_to_settle = std::max(1 - j.ratio_low, j.ratio_high - 1) - figure.offset;
    }
    judgements.push_back(j);
  }
  return judgements;
}

std::vector<SlowRuns> slow_runs(std::span<const ComparedFigure> figures, double threshold,
                                double false_alarms) {
  std::size_t runs = 0;
  for (const ComparedFigure& figure : figures)
    if (figure.judged && figure.next.size() > 1) runs += figure.next.size();
  const double tail = false_alarms / std::max(static_cast<double>(runs), 1.0);
  std::vector<Yardstick> yardsticks = yardsticks_of(figures, true);
  Widenings of_base = widenings(figures, yardsticks),
            of_all = widenings(figures, yardsticks_of(figures, false));
  std::vector<SlowRuns> found(figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const ComparedFigure& figure = figures[i];
    if (!figure.judged || figure.next.size() < 2) continue;
    Yardstick& base = yardsticks[i];
    base.unsteadiness =
        std::max(of_base[figure.expected], std::min(of_all[figure.expected], kMostUnsteady));
    const UsualSpread usual = usual_of(figure);
    // A run's share of the disturbance is unknown, so assume all of it.
    const auto all = static_cast<double>(figure.base.size() + figure.next.size());
    const Reading run = {
        .own = std::sqrt(figure.disturbance * all), .least = threshold, .usual = &usual};
    const double limit =
        limit_by(figure.cards > 0 ? as_other_card(base, figure) : base, run, tail, Belief::kAsSeen);
    for (const double value : figure.next) {
      if (value >= limit) continue;
      ++found[i].count;
      found[i].slowest = std::min(found[i].slowest, value / base.centre);
    }
  }
  return found;
}

}  // namespace peakline

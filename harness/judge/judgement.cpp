#include "harness/judge/judgement.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/statistics/statistics.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Two-sided 95 % of Student's t.
constexpr double kTail = 0.025;
// Beyond these, more runs are no advice and t is normal.
constexpr double kMostRuns = 20;
constexpr std::size_t kMostDegrees = 1000;
// How much more than its class the new side of a healthy machine may vary, by slow_runs(). Less,
// and machines less steady than their class raise alarms (judgement_test.cpp); more, and 6 % of
// PCIe in two runs of three is not found (real_runs_test.cpp).
constexpr double kMostUnsteady = 2.5;

struct Spread {
  double difference = 0;       // of the means of the logarithms, next - base
  double squares = 0;          // of the deviations from each side's mean
  std::size_t degrees = 0;     // of freedom of `squares`
  double expected = 0;         // variance of one run
  double runs_reciprocal = 0;  // 1/n + 1/m
};

// Mean and sum of squared deviations.
std::pair<double, double> moments(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += std::log(value) / static_cast<double>(values.size());
  for (const double value : values) squares += std::pow(std::log(value) - mean, 2);
  return {mean, squares};
}

Spread spread_of(const ComparedFigure& figure) {
  const auto [base, base_squares] = moments(figure.base);
  const auto [next, next_squares] = moments(figure.next);
  const auto kept_degrees = static_cast<double>(figure.kept.degrees);
  return {
      .difference = next - base,
      .squares = base_squares + next_squares + kept_degrees * std::pow(figure.kept.deviation, 2),
      .degrees = figure.base.size() + figure.next.size() - 2 + figure.kept.degrees,
      .expected = std::pow(figure.expected->run_to_run * figure.widened, 2) + figure.disturbance,
      .runs_reciprocal = 1 / static_cast<double>(figure.base.size()) +
                         1 / static_cast<double>(figure.next.size())};
}

// The factor by which a class's figures vary more than expected, at least 1. The median over the
// figures: one outlier among their runs is that figure's affair.
double widening(std::span<const Spread* const> spreads) {
  std::vector<double> ratios;
  double degrees = 0;
  for (const Spread* s : spreads) {
    if (s->degrees == 0) continue;
    const auto d = static_cast<double>(s->degrees);
    // The median of chi-squared over its mean (Wilson and Hilferty).
    ratios.push_back(s->squares / d / s->expected / std::pow(1 - 2 / (9 * d), 3));
    degrees += d;
  }
  if (ratios.empty()) return 1;
  return std::max(1.0, (kClassDegrees + degrees * median(ratios)) / (kClassDegrees + degrees));
}

using Widenings = std::map<const UsualSpread*, double>;

// There is one for each class among the figures that are judged.
Widenings widenings(std::span<const ComparedFigure> figures, std::span<const Spread> spreads) {
  std::map<const UsualSpread*, std::vector<const Spread*>> classes;
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (figures[i].judged) classes[figures[i].expected].push_back(&spreads[i]);
  Widenings factors;
  for (const auto& [expected, members] : classes) factors[expected] = widening(members);
  return factors;
}

std::vector<Spread> spreads_of(std::span<const ComparedFigure> figures) {
  std::vector<Spread> spreads;
  for (const ComparedFigure& figure : figures) spreads.push_back(spread_of(figure));
  return spreads;
}

// The standard deviation of a run, by its class and by the runs at hand.
double deviation_of(const Spread& s) {
  return std::sqrt((kClassDegrees * s.expected + s.squares) /
                   static_cast<double>(kClassDegrees + s.degrees));
}

std::size_t degrees_of(const Spread& s) {
  return std::min(kClassDegrees + s.degrees, kMostDegrees);
}

std::optional<std::size_t> runs_to_settle(double deviation, double quantile, double threshold,
                                          std::size_t runs) {
  const double needed = std::ceil(2 * std::pow((quantile + kNormal95) * deviation / threshold, 2));
  if (!(needed > static_cast<double>(runs)) || needed > kMostRuns) return std::nullopt;
  return static_cast<std::size_t>(needed);
}

Verdict verdict_of(const Judgement& j, double certain, double difference, double threshold) {
  if (j.ratio > 1 + threshold && difference > certain) return Verdict::kFaster;
  if (j.ratio < 1 - threshold && difference < -certain) return Verdict::kSlower;
  if (j.ratio_low >= 1 - threshold && j.ratio_high <= 1 + threshold) return Verdict::kSame;
  return Verdict::kInconclusive;
}

// Two cards of a model may differ by this much beside what runs do; 0 where the sides are one card.
double card_margin(const ComparedFigure& figure, double tail) {
  if (figure.cards < 2) return 0;
  return student_quantile(tail, figure.cards - 1) * std::sqrt(2) * figure.between_cards;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  return name_of(
      {"faster", "slower", "same", "inconclusive", "not_judged", "within_model", "unsteady"},
      verdict);
}

std::vector<Judgement> judge(std::span<const ComparedFigure> figures, double threshold,
                             double false_alarms) {
  const auto count =
      static_cast<double>(std::ranges::count(figures, true, &ComparedFigure::judged));
  const double corrected = false_alarms / std::max(count, 1.0);
  std::map<std::size_t, std::pair<double, double>> quantiles;  // by degrees: 95 %, corrected
  std::vector<Spread> spreads = spreads_of(figures);
  Widenings factors = widenings(figures, spreads);
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (figures[i].judged) spreads[i].expected *= factors[figures[i].expected];
  std::vector<Judgement> judgements;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Spread& s = spreads[i];
    const std::size_t degrees = degrees_of(s);
    auto [found, added] = quantiles.try_emplace(degrees);
    if (added)
      found->second = {student_quantile(kTail, degrees), student_quantile(corrected, degrees)};
    const auto [quantile, corrected_quantile] = found->second;
    const double deviation = deviation_of(s);
    const double error = deviation * std::sqrt(s.runs_reciprocal);
    Judgement j;
    j.ratio = std::exp(s.difference);
    j.ratio_low = std::exp(s.difference - quantile * error);
    j.ratio_high = std::exp(s.difference + quantile * error);
    const double offset = figures[i].offset;
    j.verdict =
        verdict_of(j, corrected_quantile * error + offset, s.difference, threshold + offset);
    const double margin =
        std::hypot(corrected_quantile * error, card_margin(figures[i], corrected));
    if ((j.verdict == Verdict::kSlower || j.verdict == Verdict::kFaster) && figures[i].cards > 0 &&
        std::abs(s.difference) <= margin + offset)
      j.verdict = Verdict::kWithinModel;
    if (j.verdict == Verdict::kInconclusive) {
      const std::size_t runs = std::max(figures[i].base.size(), figures[i].next.size());
      j.runs_to_settle = runs_to_settle(deviation, quantile, threshold, runs);
      j.threshold_to_settle = std::max(1 - j.ratio_low, j.ratio_high - 1) - offset;
    }
    judgements.push_back(j);
  }
  return judgements;
}

std::vector<SlowRuns> slow_runs(std::span<const ComparedFigure> figures, double threshold,
                                double false_alarms) {
  // Each figure against its base alone: a new run that is the base's mean scatters by nothing.
  std::vector<ComparedFigure> alone(figures.begin(), figures.end());
  std::size_t runs = 0;
  for (ComparedFigure& figure : alone) {
    const auto all = static_cast<double>(figure.base.size() + figure.next.size());
    // All that disturbed any run may have disturbed this one; below, it counts 1/n + 1 times.
    const auto n = static_cast<double>(figure.base.size());
    figure.disturbance *= all * n / (n + 1);
    if (figure.judged && figure.next.size() > 1) runs += figure.next.size();
    figure.next = {figure.base[0]};
  }
  std::vector<Spread> spreads = spreads_of(alone);
  Widenings of_base = widenings(alone, spreads), of_all = widenings(figures, spreads_of(figures));
  const double corrected = false_alarms / std::max(static_cast<double>(runs), 1.0);
  std::vector<SlowRuns> found(figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const ComparedFigure& figure = figures[i];
    if (!figure.judged || figure.next.size() < 2) continue;
    Spread& s = spreads[i];
    s.expected *= std::max(of_base[figure.expected],
                           std::min(of_all[figure.expected], kMostUnsteady * kMostUnsteady));
    const double certain = std::hypot(student_quantile(corrected, degrees_of(s)) * deviation_of(s) *
                                          std::sqrt(s.runs_reciprocal),
                                      card_margin(figure, corrected)) +
                           figure.offset;
    const double base = moments(figure.base).first;
    for (const double value : figure.next) {
      const double difference = std::log(value) - base;
      if (difference >= -certain || std::exp(difference) >= 1 - threshold - figure.offset) continue;
      ++found[i].count;
      found[i].slowest = std::min(found[i].slowest, std::exp(difference));
    }
  }
  return found;
}

}  // namespace peakline

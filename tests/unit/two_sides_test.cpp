#include "harness/judge/two_sides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>

#include "harness/judge/compare.hpp"
#include "harness/judge/repeatability.hpp"
#include "harness/show/repeatability.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/resources.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using ::testing::HasSubstr;

constexpr double kDefaultThreshold = CompareOptions{}.threshold;
constexpr double kFalseAlarms = 0.01, kFalseAlarmsOfOneRun = 0.001;
constexpr Site kGpu;

Judgement judge_one(const ComparedFigure& figure, double threshold = kDefaultThreshold) {
  return judge(std::span(&figure, 1), threshold, kFalseAlarms)[0];
}

TEST(Judge, OneRunASideKnowsItsClassAlone) {
  const UsualSpread steady = {.run_to_run = 0.001, .usual_half_width = 0.01};
  const std::vector<ComparedFigure> figures = {{.base = {100}, .next = {97}, .expected = &steady},
                                               {.base = {100}, .next = {100}, .expected = &steady}};
  const auto judgements = judge(figures, kDefaultThreshold, kFalseAlarms);
  EXPECT_EQ(judgements[0].verdict, Verdict::kSlower);
  EXPECT_NEAR(judgements[0].ratio, 0.97, 1e-12);
  EXPECT_EQ(judgements[1].verdict, Verdict::kSame);
  const double half_width = student_quantile(0.025, 12) * 0.001 * std::sqrt(2);
  EXPECT_NEAR(judgements[1].ratio_high, std::exp(half_width), 1e-9);
}

TEST(Judge, RunsThatWereKeptCountLikeThoseAtHand) {
  const UsualSpread expected = {.run_to_run = 0.01, .usual_half_width = 0.01};
  const auto verdict = [&](const KeptSpread& kept) {
    return judge_one({.base = {100}, .next = {97}, .expected = &expected, .kept = kept}).verdict;
  };
  EXPECT_EQ(verdict({}), Verdict::kInconclusive);
  EXPECT_EQ(verdict({.deviation = 0.001, .degrees = 40}), Verdict::kSlower);
  EXPECT_EQ(verdict({.deviation = 0.02, .degrees = 40}), Verdict::kInconclusive);
}

TEST(Judge, MoreVerdictsNeedMoreEvidence) {
  const UsualSpread varying = {.run_to_run = 0.008, .usual_half_width = 0.01};
  const ComparedFigure slower = {.base = {100}, .next = {95.5}, .expected = &varying};
  const auto verdict = [&](std::size_t figures) {
    return judge(std::vector<ComparedFigure>(figures, slower), kDefaultThreshold, kFalseAlarms)[0]
        .verdict;
  };
  EXPECT_EQ(verdict(1), Verdict::kSlower);
  EXPECT_EQ(verdict(50), Verdict::kInconclusive);
}

// An outlier does not affect the class's other figures.
TEST(Judge, AnOutlierIsItsFiguresAffair) {
  const UsualSpread expected = {.run_to_run = 0.003, .usual_half_width = 0.01};
  const ComparedFigure quiet = {
      .base = {100, 100.2, 99.9}, .next = {95, 95.1, 94.9}, .expected = &expected};
  ComparedFigure outlier = quiet;
  outlier.next[2] = 50;
  const auto judgements = judge(std::vector<ComparedFigure>{quiet, outlier, quiet, quiet},
                                kDefaultThreshold, kFalseAlarms);
  EXPECT_EQ(judgements[0].verdict, Verdict::kSlower);
  EXPECT_EQ(judgements[1].verdict, Verdict::kUneven);
}

TEST(Judge, SaysHowManyRunsWouldSettleIt) {
  const UsualSpread varying = {.run_to_run = 0.01, .usual_half_width = 0.01};
  const auto of_runs = [&](std::size_t n, double next) {
    return ComparedFigure{
        .base = std::vector(n, 100.0), .next = std::vector(n, next), .expected = &varying};
  };
  const auto runs = [&](double next, std::size_t n, double threshold) {
    const Judgement found = judge_one(of_runs(n, next), threshold);
    EXPECT_EQ(found.verdict, Verdict::kInconclusive);
    return found.runs_to_settle;
  };
  ASSERT_TRUE(runs(100, 1, 0.02).has_value());
  EXPECT_EQ(judge_one(of_runs(*runs(100, 1, 0.02), 101), 0.02).verdict, Verdict::kSame);
  EXPECT_EQ(runs(98, 20, 0.02), std::nullopt);    // exactly at the threshold
  EXPECT_EQ(runs(100, 1, 0.0001), std::nullopt);  // no sensible number
}

TEST(Judge, SaysWhichThresholdWouldSettleIt) {
  const UsualSpread varying = {.run_to_run = 0.01, .usual_half_width = 0.01};
  for (const double offset : {0.0, 0.005}) {
    const ComparedFigure figure = {
        .base = {100}, .next = {98}, .expected = &varying, .offset = offset};
    const Judgement open = judge_one(figure, 0.005);
    ASSERT_EQ(open.verdict, Verdict::kInconclusive);
    ASSERT_TRUE(open.threshold_to_settle);
    const double settles = *open.threshold_to_settle;
    EXPECT_EQ(judge_one(figure, 1.0001 * settles).verdict, Verdict::kSame);
    EXPECT_EQ(judge_one(figure, 0.999 * settles).verdict, Verdict::kInconclusive);
  }
}

TEST(SlowRuns, AreFoundWhereTheMeanHidesThem) {
  const UsualSpread expected = {.run_to_run = 0.003, .usual_half_width = 0.01};
  const std::vector<ComparedFigure> figures = {
      {.base = {100, 100.2}, .next = {96, 100, 100.2}, .expected = &expected},
      {.base = {100, 100.2}, .next = {100.1, 99.8, 100}, .expected = &expected},
      {.base = {100, 100.2}, .next = {50, 50, 50}, .expected = &expected, .judged = false},
      {.base = {100, 100.2}, .next = {50}, .expected = &expected}};
  EXPECT_EQ(judge(figures, kDefaultThreshold, kFalseAlarms)[0].verdict, Verdict::kInconclusive);
  const auto found = slow_runs(figures, kDefaultThreshold, kFalseAlarms);
  EXPECT_EQ(found[0].count, 1U);
  EXPECT_NEAR(found[0].slowest, 0.959, 0.001);
  for (const std::size_t other : {1, 2, 3}) EXPECT_EQ(found[other].count, 0U) << other;
}

// Also if all figures of a class vary together, as with a neighbour.
TEST(SlowRuns, AreFoundInAllFiguresOfAClass) {
  const UsualSpread expected = {.run_to_run = 0.001, .usual_half_width = 0.01};
  const ComparedFigure halved = {.base = {100}, .next = {96, 100, 96.1}, .expected = &expected};
  for (const SlowRuns& slow :
       slow_runs(std::vector<ComparedFigure>(6, halved), kDefaultThreshold, kFalseAlarms))
    EXPECT_EQ(slow.count, 2U);
}

TEST(SlowRuns, ADisturbedRunIsNotSlow) {
  const UsualSpread expected = {.run_to_run = 0.003, .usual_half_width = 0.01};
  for (const std::size_t n : {1, 8, 16}) {
    const ComparedFigure disturbed = {.base = std::vector(n, 100.0),
                                      .next = {95, 100, 100},
                                      .expected = &expected,
                                      .disturbance = 0.02 * 0.02 / static_cast<double>(n + 3)};
    EXPECT_EQ(slow_runs(std::vector{disturbed}, kDefaultThreshold, kFalseAlarms)[0].count, 0U) << n;
  }
}

// --- Simulation: repeated measurements of the reference profile's ceilings.

bool power_limited(std::string_view resource, Basis basis) {
  return (basis == Basis::kSustained || basis == Basis::kModelShaped) &&
         !resource.starts_with("cuda_core");
}

// The true standard deviation of a run's logarithm.
using Deviation = double (*)(const Ceiling&);

double as_expected(const Ceiling& c) { return usual_spread(c.resource, c.basis, kGpu).run_to_run; }
// 1.5 x as noisy as expected, under a power cap.
double up_to_0_8_percent(const Ceiling& c) {
  return power_limited(c.resource, c.basis) ? 0.008 : 0.003;
}
// A machine three to ten times as noisy as the measured one.
double up_to_2_percent(const Ceiling& c) {
  return power_limited(c.resource, c.basis) ? 0.02 : 0.01;
}

struct Simulated {
  Ceiling ceiling;
  double deviation;
};

// The GPU's; the host is virtual and never judged.
std::vector<Simulated> reference(Deviation deviation) {
  std::vector<Simulated> ceilings;
  for (const Ceiling& c : sample::reference().ceilings)
    if (!c.measurement.empty() && c.device != kHostDevice) ceilings.push_back({c, deviation(c)});
  EXPECT_GT(ceilings.size(), 30U);
  return ceilings;
}

struct Simulation {
  double alarms = 0;          // share of comparisons with any "slower"
  double inconclusive = 0;    // mean number of ceilings
  double width = 0;           // mean of ratio_high - ratio_low
  std::vector<double> found;  // share of comparisons in which each ceiling is "slower"
};

// The new side is slower by `loss`.
Simulation simulate(const std::vector<Simulated>& ceilings, std::size_t base_runs,
                    std::size_t next_runs, double threshold = kDefaultThreshold, double loss = 0,
                    int comparisons = 1000) {
  const double share = 1.0 / comparisons;
  std::mt19937_64 random(20261121);
  std::normal_distribution<double> normal;
  Simulation outcome{.found = std::vector<double>(ceilings.size())};
  for (int i = 0; i < comparisons; ++i) {
    std::vector<ComparedFigure> figures;
    for (const auto& [ceiling, deviation] : ceilings) {
      const auto runs = [&](std::size_t n, double value) {
        std::vector<double> values(n);
        for (double& v : values) v = value * std::exp(deviation * normal(random));
        return values;
      };
      figures.push_back({.base = runs(base_runs, ceiling.value),
                         .next = runs(next_runs, ceiling.value * (1 - loss)),
                         .expected = &usual_spread(ceiling.resource, ceiling.basis, kGpu)});
    }
    bool alarm = false;
    const auto judgements = judge(figures, threshold, kFalseAlarms);
    const auto slow = slow_runs(figures, threshold, kFalseAlarmsOfOneRun);
    for (std::size_t f = 0; f < figures.size(); ++f) {
      const Judgement& j = judgements[f];
      alarm = alarm || j.verdict == Verdict::kSlower || slow[f].count > 0;
      outcome.found[f] += j.verdict == Verdict::kSlower ? share : 0;
      outcome.inconclusive += j.verdict == Verdict::kInconclusive ? share : 0;
      outcome.width += (j.ratio_high - j.ratio_low) * share / static_cast<double>(figures.size());
    }
    outcome.alarms += alarm ? share : 0;
  }
  return outcome;
}

TEST(Simulation, HealthyMachinesRaiseNoAlarm) {
  for (const Deviation deviation : {as_expected, up_to_0_8_percent}) {
    for (const std::size_t runs : {1, 2, 3, 5}) {
      EXPECT_LE(simulate(reference(deviation), runs, runs).alarms, 0.01) << runs << " runs a side";
      EXPECT_LE(simulate(reference(deviation), 1, runs).alarms, 0.01)
          << "1 and " << runs << " runs";
    }
  }
  // A finer threshold needs a correct table of classes: on a machine 1.5 x as noisy, 10 % of
  // one-run comparisons are false alarms.
  for (const std::size_t runs : {1, 2, 3, 5})
    EXPECT_LE(simulate(reference(as_expected), runs, runs, 0.01).alarms, 0.01) << runs;
  EXPECT_LE(simulate(reference(up_to_0_8_percent), 1, 1, 0.01).alarms, 0.15);
  EXPECT_LE(simulate(reference(up_to_0_8_percent), 5, 5, 0.01).alarms, 0.01);
  // If the table is wrong, five runs a side correct it; one cannot.
  EXPECT_LE(simulate(reference(up_to_2_percent), 5, 5).alarms, 0.015);
}

TEST(Simulation, FiveRunsASideLeaveLittleInconclusive) {
  for (const Deviation deviation : {as_expected, up_to_0_8_percent})
    EXPECT_LE(simulate(reference(deviation), 5, 5).inconclusive, 2);
}

TEST(Simulation, OneRunASideFindsLosses) {
  const auto ceilings = reference(as_expected);
  const Simulation small = simulate(ceilings, 1, 1, kDefaultThreshold, 0.03);
  const Simulation large = simulate(ceilings, 1, 1, kDefaultThreshold, 0.05);
  for (std::size_t i = 0; i < ceilings.size(); ++i) {
    const Ceiling& c = ceilings[i].ceiling;
    const bool varies = power_limited(c.resource, c.basis);
    EXPECT_GE((varies ? large : small).found[i], 0.90) << to_string(FigureKey{c.resource, c.basis});
  }
}

TEST(Simulation, FiveRunsASideFindLosses) {
  const auto expect_found = [](const std::vector<Simulated>& ceilings, double threshold,
                               double loss) {
    const Simulation outcome = simulate(ceilings, 5, 5, threshold, loss);
    for (std::size_t i = 0; i < ceilings.size(); ++i)
      EXPECT_GE(outcome.found[i], 0.95)
          << to_string(FigureKey{ceilings[i].ceiling.resource, ceilings[i].ceiling.basis});
  };
  expect_found(reference(as_expected), kDefaultThreshold, 0.05);
  expect_found(reference(up_to_0_8_percent), kDefaultThreshold, 0.05);
  // A small loss is found if runs differ little.
  expect_found(reference([](const Ceiling&) { return 0.005; }), 0.01, 0.02);
}

// On average: another run may show that a figure is less certain than it seemed. On machines
// noisier than their class, even a side's second run does so.
TEST(Simulation, AFurtherRunNarrowsTheIntervals) {
  const auto expected = reference(as_expected), more = reference(up_to_0_8_percent);
  const auto width_of = [](const auto& ceilings, std::size_t base_runs, std::size_t next_runs) {
    return simulate(ceilings, base_runs, next_runs, kDefaultThreshold, 0, 200).width;
  };
  double last = width_of(expected, 1, 1), last_more = width_of(more, 1, 1);
  for (std::size_t runs = 1; runs < 5; ++runs) {
    for (const std::size_t base_runs : {runs, runs + 1}) {
      const double width = width_of(expected, base_runs, runs + 1);
      EXPECT_LT(width, last) << base_runs << " and " << runs + 1 << " runs";
      last = width;
    }
    const double width = width_of(more, runs + 1, runs + 1);
    EXPECT_LT(width, last_more) << runs + 1 << " runs a side";
    last_more = width;
  }
}

// A run whose device memory is read `factor` times as fast as usual.
Profile run(double factor, std::string created, std::string mode = "full") {
  Profile p = sample::h200_run();
  for (Measurement& m : p.measurements)
    if (m.id == "hbm.read") sample::scale(m, factor);
  p.mode = std::move(mode);
  p.created = std::move(created);
  return sample::derived(std::move(p));
}

const CeilingStudy& read_ceiling(const Study& study) {
  for (const CeilingStudy& row : study.ceilings)
    if (row.resource == "hbm.read") return row;
  throw std::out_of_range("hbm.read was not studied");
}

TEST(Study, SaysHowFarRunsDifferAndIfTheNextIsInside) {
  const std::vector<Profile> runs = {run(1, "2026-11-21T10:00:00Z"),
                                     run(1.0001, "2026-11-21T10:02:00Z"),
                                     run(0.9, "2026-11-21T10:04:00Z")};
  const std::vector<Study> studies = study_runs(runs);
  ASSERT_EQ(studies.size(), 1u);
  const CeilingStudy& read = read_ceiling(studies[0]);
  EXPECT_EQ(read.runs, 3u);
  EXPECT_NEAR(read.spread, 0.1001, 1e-6);
  EXPECT_DOUBLE_EQ(read.median, 4583e9);
  // The first two lie inside each other's interval, the third in none.
  EXPECT_NEAR(read.inside.value(), 2.0 / 6, 1e-12);
  EXPECT_GT(read.half_width.value(), 0);
  EXPECT_EQ(studies[0].pairs, 6u);
  EXPECT_EQ(studies[0].alarms, 2u);  // the third after either of the others
  EXPECT_THAT(repeatability_text(studies, runs, {.width = 80}),
              HasSubstr("fails in 2 of 6 ordered pairs:\ngpu0/hbm.read/measured (2)"));
}

TEST(Study, KeepsModesApartAndLeavesOutWhatWasRunOnce) {
  const std::vector<Profile> runs = {run(1, "2026-11-21T10:00:00Z"), run(1, "2026-11-21T10:02:00Z"),
                                     run(1, "2026-11-21T10:04:00Z", "quick")};
  const std::vector<Study> studies = study_runs(runs);
  ASSERT_EQ(studies.size(), 1u);
  EXPECT_EQ(studies[0].mode, "full");
  EXPECT_EQ(studies[0].alarms, 0u);
  EXPECT_TRUE(study_runs(std::span(runs).last(1)).empty());
}

}  // namespace
}  // namespace peakline

#pragma once

// Judges a figure in the runs of two sides by the engine: the old side's runs are the yardstick for
// the mean of the new ones. On logarithms, where a ratio is a difference.
//
//   - The spread of runs comes from both sides, kept runs and the class. If runs differ more than
//     their class, in the median over its figures, the class is widened, so that a noisier machine
//     raises no false alarms. It is never narrowed: runs in a row may agree better than runs of two
//     days.
//   - A run with an unusually wide interval widens the figure's.
//   - same: the ratio's 95 % interval lies within 1 -+ threshold; else inconclusive.
//   - Between two cards of a model, differences must also exceed the scatter of the model's cards.
//
// A further run narrows the interval if it agrees as expected; one far off widens it.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/hardware/usual_spread.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// kNotJudged: different models, a virtual machine's host, or another method.
// kWithinModel: within the scatter of the model's cards.
// kUnsteady: excessive scatter within a run, or slower in only some of the new runs.
// kUneven: would be slower, but runs differ by more than is plausible.
enum class Verdict {
  kFaster,
  kSlower,
  kSame,
  kInconclusive,
  kNotJudged,
  kWithinModel,
  kUnsteady,
  kUneven
};
// "faster", "slower", "same", "inconclusive", "not_judged", "within_model", "unsteady", "uneven"
std::string_view to_string(Verdict verdict);

struct ComparedFigure {
  std::vector<double> base, next;         // above 0; at least one each
  const UsualSpread* expected = nullptr;  // shared by figures of a class
  KeptSpread kept = {};                   // of earlier runs, which count like those at hand
  double widened = 1;                     // assumed factor on the model's scatter
  double disturbance = 0;                 // variance of a run's logarithm beyond the class's
  double believed_disturbance = 0;        // likewise, of scatter within runs up to a healthy one's
  double offset = 0;                      // share by which the sides may differ for other reasons
  // For two cards: scatter of the model's cards (standard deviation, share), and the number of
  // cards behind it; 0: one card.
  double between_cards = 0;
  std::size_t cards = 0;
  bool judged = true;  // false: compute only ratio and interval
};

struct Judgement {
  // Ratio of geometric means, with its 95 % interval.
  double ratio = 1, ratio_low = 1, ratio_high = 1;
  Verdict verdict = Verdict::kInconclusive;
  // The interval's lower end, with scatter within runs up to a healthy device's.
  double believed_low = 1;
  double runs_differ = 0;  // standard deviation of the machine's runs, share
  // Runs a side after which an unchanged inconclusive figure would be "same" with 95 %; nullopt: no
  // more than now, or more than twenty.
  std::optional<std::size_t> runs_to_settle;
  // Lowest threshold (share) at which an inconclusive figure is "same".
  std::optional<double> threshold_to_settle;
};

// In the order of figures. threshold: smaller changes do not count. false_alarms: share of healthy
// comparisons that call any figure slower. Both above 0.
std::vector<Judgement> judge(std::span<const ComparedFigure> figures, double threshold,
                             double false_alarms);

// New runs that are slower by themselves, which their mean may hide: an intermittent fault makes a
// figure uncertain rather than slower.
struct SlowRuns {
  std::size_t count = 0;
  double slowest = 1;  // of these, over the base's mean
};
// In the order of figures; a share `false_alarms` of healthy comparisons has any. Each run is
// compared with the spread of the base and of the new runs, which counts up to 2.5 times the
// class's.
std::vector<SlowRuns> slow_runs(std::span<const ComparedFigure> figures, double threshold,
                                double false_alarms);

}  // namespace peakline

#pragma once

// A figure in the runs of two sides, judged by the engine: the old side's runs are the yardstick,
// and the mean of the new side's is held against it. Everything is reckoned on logarithms, so that
// a ratio is a difference.
//
//   - How far runs differ is known from those of both sides and from runs that were kept, beside
//     the class's. If the runs at hand differ more than their class, in the median over its
//     figures, the class is widened first, so that a machine that is less steady than the one that
//     was measured raises no false alarms. It is never narrowed: runs in a row may agree better
//     than runs of two days.
//   - A run whose own interval is wider than usual widens the figure by as much.
//   - same: the ratio's 95 % interval lies within 1 -+ threshold. Otherwise inconclusive.
//   - Of two cards of a model, what is slower or faster by their runs also has to lie beyond what
//     cards of the model scatter by; else it is within the model's scatter.
//
// A further run that differs from the others as runs are expected to narrows the interval; one that
// lies far off shows that the figure is less certain than it seemed, and widens it.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/hardware/usual_spread.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// kNotJudged: of different models, where the ratio says which wins, not what is broken; of the host
// in a virtual machine; and where the method of measuring changed.
// kWithinModel: cards of the model differ by as much.
// kUnsteady: it scatters within a run by more than a healthy device's, so that the ratio says
// little, or is slower in some of the new runs alone.
// kUneven: it would be slower, but for runs that differ by more than is believed of any machine.
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

// The same figure in the runs of both sides.
struct ComparedFigure {
  std::vector<double> base, next;         // above 0; at least one each
  const UsualSpread* expected = nullptr;  // figures of one class share it
  KeptSpread kept = {};                   // of earlier runs, which count like those at hand
  double widened = 1;      // by so much more the device's model is assumed to scatter
  double disturbance = 0;  // variance of a run's logarithm that the class does not explain
  double offset = 0;       // by which the sides may differ for reasons of their own; a share
  // What two cards differ by beside that: the standard deviation of a card about the mean of its
  // model, a share, and of how many cards it is known. 0 cards: the sides are one card.
  double between_cards = 0;
  std::size_t cards = 0;
  bool judged = true;  // false: only the ratio and its interval are wanted
};

struct Judgement {
  double ratio = 1, ratio_low = 1,
         ratio_high = 1;  // of the geometric means, with its 95 % interval
  Verdict verdict = Verdict::kInconclusive;
  double runs_differ = 0;  // what runs of the machine scatter by: a standard deviation, a share
  // How many runs a side make an inconclusive figure "same" with 95 %, if it has not changed.
  // nullopt where there are as many already, or where more than twenty would be needed.
  std::optional<std::size_t> runs_to_settle;
  // The lowest threshold, a share, at which an inconclusive figure is "same".
  std::optional<double> threshold_to_settle;
};

// Judges each, in the order of the figures. threshold: changes below it do not count; false_alarms:
// of so many healthy comparisons one calls any figure slower. Both are shares, above 0.
std::vector<Judgement> judge(std::span<const ComparedFigure> figures, double threshold,
                             double false_alarms);

// New runs that are slower than the base by themselves, which the mean of all of them may hide: a
// fault that comes and goes makes a figure uncertain rather than slower.
struct SlowRuns {
  std::size_t count = 0;
  double slowest = 1;  // of these, as a ratio to the base's mean
};
// Finds them in the order of the figures; a share `false_alarms` of healthy comparisons has any.
// Each run is held against the spread of the base. That of the new runs counts as well, but up
// to 2.5 times their class's: a machine may be that unsteady, and what differs by more is what is
// looked for.
std::vector<SlowRuns> slow_runs(std::span<const ComparedFigure> figures, double threshold,
                                double false_alarms);

}  // namespace peakline

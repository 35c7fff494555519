#pragma once

// The rule of all verdicts: yardsticks, each of which knows what a healthy device measures, pass or
// fail a figure. On logarithms, with standard deviations of healthy devices:
//
//   limit = centre - max(least loss, q sqrt(cards^2 (1 + 1/n) + runs^2 + own^2)) - margin
//
// A prior's margin, about twice the difference between two models, covers the scatter of cards and
// runs. q is Student's t of the false-alarm budget, shared by the run's figures. The figure's class
// (harness/hardware/usual_spread.hpp) adds kClassDegrees degrees of freedom to the n cards
// (moderated variances, Smyth 2004, doi:10.2202/1544-6115.1027). A yardstick's scatter is believed
// up to twice its class's (2.5 times for a device's own runs), so that neither a bad card nor a
// planted file widens a limit. If a device's own runs scatter by more, they cannot judge what lies
// within that scatter.
//
// All yardsticks are tried; the strictest trusted one counts. Cards or peers whose centre is below
// the limit of a prior or floor are not trusted.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/hardware/usual_spread.hpp"

namespace peakline {

// In order of severity.
enum class Outcome { kPass, kExcused, kWarn, kCannotJudge, kFail };
std::string_view to_string(Outcome outcome);  // "pass", "excused", "warn", "cannot_judge", "fail"

enum class YardstickKind {
  kOwnRuns,     // earlier runs of this device
  kPopulation,  // cards of its model
  kPeers,       // the other devices of a fleet
  kPrior,       // another model's shares of theory, same compute capability
  kFloor        // a share of theory that every healthy device reaches
};
std::string_view to_string(YardstickKind kind);  // "own_runs", "population", "peers", ...

struct Yardstick {
  YardstickKind kind = YardstickKind::kFloor;
  double centre = 0;  // of healthy devices; a floor's limit
  // Devices averaged in `centre`; 0: this device itself.
  std::size_t cards = 1;
  // Runs of one device averaged in `centre`; 0: enough to add no uncertainty.
  std::size_t runs = 0;
  // Scatter between devices, and between a device's runs: shares, with degrees of freedom.
  double between_cards = 0, between_runs = 0;
  std::size_t card_degrees = 0, run_degrees = 0;
  double unsteadiness = 1;                // scatter of this machine's runs over their class's
  double margin = 0;                      // share
  bool may_fail = true, may_pass = true;  // possible outcomes
  std::string source = {};                // "16 cards", "the NVIDIA H200's shares of theory"
};

struct Reading {
  double value = 0;
  std::size_t runs = 1;  // averaged in `value`
  double own = 0;        // standard deviation beyond the class's, share
  double least = 0.03;   // share; smaller losses are not reported
  const UsualSpread* usual = nullptr;
};

// Least loss of a single run; several runs of a card find less (compare).
inline constexpr double kLeastLoss = 0.03;
// With fewer than kFewCards cards, and for L2, which has two levels on healthy cards.
inline constexpr double kLeastLossOfFew = 0.04;
inline constexpr std::size_t kFewCards = 5;
// Share of healthy runs with any figure below its limit.
inline constexpr double kFalseAlarms = 0.001;
// A limit further below its centre vouches for nothing.
inline constexpr double kWidestLimit = 0.15;
// Scatter within the run that lowers a limit by this much more is reported.
inline constexpr double kWidened = 1.25;

struct Assessment {
  Outcome outcome = Outcome::kCannotJudge;
  std::optional<double> limit = {};  // nullopt: no yardstick was trusted
  Yardstick by = {};                 // yardstick of the limit
  double deviations = 0;             // q, if scatter rather than the least loss set the limit
  bool widened = false;              // the reading's own scatter lowered the limit noticeably
  bool too_wide = false;             // by yardsticks that could vouch, the limit lies too far below
  bool vouched = false;              // passed by a yardstick that knows healthy devices
  bool uneven = false;               // kCannotJudge because of the device's own runs
  std::string distrusted = {};       // source of an untrusted yardstick
};

// Scatter of a healthy reading about a yardstick's centre (no floor): standard deviation, share,
// and degrees of freedom.
struct Scatter {
  double deviation = 0;
  std::size_t degrees = 0;
};
// kAsSeen: without the bound on scatter.
enum class Belief { kLimited, kAsSeen };
Scatter scatter_about(const Yardstick& yardstick, const Reading& reading, Belief belief);

// The quantile of Student's t with upper tail probability `tail`.
double quantile_of(double tail, std::size_t degrees);

// The lowest passing value by one yardstick. tail: this figure's budget. deviations: set to q, or 0
// if the least loss sets the limit.
double limit_by(const Yardstick& yardstick, const Reading& reading, double tail,
                Belief belief = Belief::kLimited, double* deviations = nullptr);

// kCannotJudge if no yardstick is trusted, or only floors pass the value. figures: number in the
// run, which share the budget.
Assessment judge(const Reading& reading, std::span<const Yardstick> yardsticks,
                 std::size_t figures);

}  // namespace peakline

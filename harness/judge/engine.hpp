#pragma once

// The rule of every verdict: a figure passes or fails by yardsticks, each of which says what a
// healthy device measures. On logarithms, with the standard deviations of healthy devices,
//
//   limit = centre - max(least loss, q sqrt(cards^2 (1 + 1/n) + runs^2 + own^2)) - margin
//
// The margin of a prior, about twice what two models differ by, covers what cards and runs do.
// q is Student's t of the false-alarm budget over the figures of the run. The class of the figure
// (harness/hardware/usual_spread.hpp) counts as kClassDegrees degrees of freedom beside the n cards
// (moderated variances, Smyth 2004, doi:10.2202/1544-6115.1027), and no yardstick's scatter is
// believed beyond twice its class's (2.5 times where it is a device's own runs): neither a bad card
// nor a planted file widens a limit. A device whose own runs seem to scatter by more is not accused
// of what lies within that scatter either: it cannot be judged by them.
//
// Every yardstick is tried, and the strictest one that is trusted counts. Cards or peers whose
// centre lies below the limit of a prior or a floor are not trusted.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/hardware/usual_spread.hpp"

namespace peakline {

// They are in the order of severity.
enum class Outcome { kPass, kExcused, kWarn, kCannotJudge, kFail };
std::string_view to_string(Outcome outcome);  // "pass", "excused", "warn", "cannot_judge", "fail"

enum class YardstickKind {
  kOwnRuns,     // earlier runs of this device
  kPopulation,  // cards of its model
  kPeers,       // the other devices of a fleet
  kPrior,       // shares of theory of another model of the same compute capability
  kFloor        // a share of theory that no healthy device is below
};
std::string_view to_string(YardstickKind kind);  // "own_runs", "population", "peers", ...

struct Yardstick {
  YardstickKind kind = YardstickKind::kFloor;
  double centre = 0;  // what a healthy device measures; of a floor, its limit
  // Devices whose mean the centre is; 0: it is this device's own.
  std::size_t cards = 1;
  // Runs of one device whose mean the centre is; 0: so many that they add no uncertainty.
  std::size_t runs = 0;
  // Scatter between devices, and between runs of one, as shares with their degrees of freedom.
  double between_cards = 0, between_runs = 0;
  std::size_t card_degrees = 0, run_degrees = 0;
  double unsteadiness = 1;  // times their class, the scatter of all runs of this machine
  double margin = 0;        // a share
  bool may_fail = true, may_pass = true;  // what a comparison with it may decide
  std::string source = {};                // "16 cards", "the NVIDIA H200's shares of theory"
};

// A measured figure of a device.
struct Reading {
  double value = 0;
  std::size_t runs = 1;  // whose mean it is
  double own = 0;        // standard deviation that this run adds to its class's, a share
  double least = 0.03;   // losses below it are never reported, a share
  const UsualSpread* usual = nullptr;
};

// Losses below this are never reported: several runs of one card find less (compare).
inline constexpr double kLeastLoss = 0.03;
// Where fewer than kFewCards are known, and for an L2, which healthy cards have at two levels.
inline constexpr double kLeastLossOfFew = 0.04;
inline constexpr std::size_t kFewCards = 5;
// This share of healthy runs has any figure below its limit.
inline constexpr double kFalseAlarms = 0.001;
// A limit that lies further below its centre vouches for nothing.
inline constexpr double kWidestLimit = 0.15;

struct Assessment {
  Outcome outcome = Outcome::kCannotJudge;
  std::optional<double> limit = {};  // nullopt: no yardstick was trusted
  Yardstick by = {};                 // the yardstick of that limit
  double deviations = 0;             // q, where scatter rather than the least loss made the limit
  bool vouched = false;              // a yardstick that knows healthy devices passes it
  bool uneven = false;               // it is kCannotJudge because the device's own runs are
  std::string distrusted = {};       // source of a yardstick that was not trusted
};

// How far a healthy device's reading lies from the centre of a yardstick other than a floor: a
// standard deviation, a share, with its degrees of freedom.
struct Scatter {
  double deviation = 0;
  std::size_t degrees = 0;
};
// kAsSeen leaves out that scatter beyond the multiple of its class is not believed.
enum class Belief { kLimited, kAsSeen };
Scatter scatter_about(const Yardstick& yardstick, const Reading& reading,
                      Belief belief = Belief::kLimited);

// The quantile of Student's t above which lies the share `tail`.
double quantile_of(double tail, std::size_t degrees);

// The lowest value that passes by one yardstick. tail: the budget of this figure. deviations: set
// to q where scatter makes the limit, to 0 where the least loss does.
double limit_by(const Yardstick& yardstick, const Reading& reading, double tail,
                Belief belief = Belief::kLimited, double* deviations = nullptr);

// kCannotJudge where no yardstick is trusted, and where the value lies above floors alone.
// figures: of the run, which share the budget.
Assessment judge(const Reading& reading, std::span<const Yardstick> yardsticks, std::size_t figures,
                 double budget = kFalseAlarms);

}  // namespace peakline

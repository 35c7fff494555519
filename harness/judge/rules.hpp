#pragma once

// Rules with an outcome, common to check, compare and fleet, which excuse them by name.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/card_runs.hpp"
#include "harness/judge/engine.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// What a rule is about; documents call it `code`.
enum class RuleKind {
  kFigure,
  kMethod,  // a figure by another method than the population's
  kUnsteady,
  kMissing,
  kDuplicate,
  kFact,
  kHealth,
  kImplausible,
  kCoverage,
  kLost,  // measurements behind ceilings, or a GPU that the newest run lacks
  kGpus,
  kUnusable,
  kEndedEarly,
  // Of comparisons alone; gate.cpp explains them.
  kSlower,
  kUneven,
  kMethodChanged,
  kClockUnknown,
  kNotMeasured,
  kFailed,
  kUnverified,
  kNotVerified,
  kDeviceUnusable,
  kDifferentModel,
  kNotJudged,
  kFiltered
};
std::string_view to_string(RuleKind kind);  // "figure", "method", ...

// Identifies a rule: "gpu0/tensor.bf16/burst", in a fleet "node7/gpu0/tensor.bf16/burst".
struct RuleName {
  enum class Aspect { kLevel, kSteady, kTwice };  // of a figure

  std::string machine = {};  // empty: the only one
  std::string device = {};   // "gpu0", "node", "host", "machine"
  std::optional<FigureKey> figure = {};
  Aspect aspect = Aspect::kLevel;
  std::string other = {};  // "sm_count", "health/xid"; empty, without figure: the device itself

  std::string within() const;  // the device: "tensor.bf16/burst/steady", "health/xid"
  bool operator==(const RuleName&) const = default;
};
std::string to_string(const RuleName& name);

struct Judged {
  RuleKind kind;
  RuleName name;
  Outcome outcome = Outcome::kPass;
  std::string text = {};  // statement of a rule without a value
  std::optional<RuleGroup> group = {};
  std::string label = {};  // of a figure, fact or group: "BF16 Tensor Cores burst"
  // Of figures and facts. The limit is a yardstick's or the site's.
  std::optional<double> value = {}, limit = {};
  std::optional<double> first_value = {};  // before a second measurement
  std::string unit = {};
  std::optional<Assessment> found = {};  // of a figure, if a yardstick has a limit
  bool limited_by_site = false;
  std::string cause = {};        // explanation besides the limit
  bool disturbed = false;        // the cause is that others used the GPU
  std::string measurement = {};  // the point it came from
  std::string reason = {};       // the site's, if its rules changed this one

  bool passes() const { return outcome < Outcome::kCannotJudge; }
  // Judged by something that knows healthy devices.
  bool vouched() const { return limited_by_site || (found && found->vouched); }
  bool by(YardstickKind yardstick) const { return found && found->by.kind == yardstick; }
  // A share of what healthy devices reach; needs `found`.
  double share(double of) const { return of / found->by.centre; }
};

// A value in the rule's unit: "4.2 TB/s", "0.987" for a ratio.
std::string value_text(const Judged& rule, double value);
// The only wording of rules: "HBM read: 4.2 TB/s, 9.1 % below the median of 16 cards, limit 4.5 %".
std::string describe(const Judged& rule);
// Likewise, without naming those who used the GPU, which its rules have in common.
std::string describe_alone(const Judged& rule);
// Who used the GPU, and what to do: "python3 (4711) used GPU 0 too: ..."; "" where nobody did.
std::string about_others(std::span<const Judged> rules);
// For first lines, the worst of a device's rules: "HBM read 9.1 % below healthy, and 3 more: heat".
std::string describe_worst(const Judged& worst, std::span<const Judged> rules);

struct RuleChange {
  std::string name;                     // rule, with or without device
  std::optional<double> limit = {};     // lowest passing value, in the figure's unit
  std::optional<double> loss = {};      // likewise, as a share below the median of healthy cards
  std::optional<Outcome> outcome = {};  // if it does not pass: kWarn or kExcused
  std::string mode = {};                // of runs it applies to; empty: any
  std::string reason = {};
  std::map<std::string, std::size_t> lines = {};  // in its file, by key
};

class RulesOf {
 public:
  RulesOf(std::string device, std::vector<Judged>& all) : device_(std::move(device)), all_(all) {}
  // name: within the device; empty: the device itself.
  Judged& add(RuleKind kind, std::string name, Outcome outcome, std::string text = {});
  Judged& add(RuleKind kind, FigureKey figure, Outcome outcome, std::string text = {});

 private:
  std::string device_;  // "gpu0"
  std::vector<Judged>& all_;
};

// Names that a user allows, and whether they were needed.
class Allowed {
 public:
  explicit Allowed(std::span<const std::string> names)
      : names_(names), used_(names.size(), false) {}
  void excuse(std::span<Judged> rules);
  std::vector<std::string> unused() const;  // names that excused nothing

 private:
  std::span<const std::string> names_;
  std::vector<bool> used_;
};

// By outcome; then facts and errors, which may explain figures; then distance below the limit.
// Ratios to siblings come last.
bool more_severe(const Judged& a, const Judged& b);
const Judged* worst(std::span<const Judged> rules);  // nullptr without rules

// The worst outcome, where excused rules pass; kCannotJudge without rules.
Outcome verdict(std::span<const Judged> rules);

// Cards are distinguished by facts, so that more than others have cannot be judged; more than in
// earlier runs is an improvement. Of a model without population, some facts must have been read.
enum class Usual { kOtherCards, kNoPopulation, kEarlierRuns };
// Compares a card's facts with the usual ones of `whose` ("other cards"). Less fails; a fact that
// could not be read cannot be judged.
void judge_facts(const CardFacts& card, const CardFacts& usual, std::string_view whose, Usual from,
                 RulesOf& rules);
std::vector<std::string> fact_names();  // of the rules: "sm_count", "memory", ...

}  // namespace peakline

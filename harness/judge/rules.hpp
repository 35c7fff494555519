#pragma once

// Rules with an outcome, common to check, compare and fleet, which excuse them by name.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/engine.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/population.hpp"

namespace peakline {

// A part of the machine that must be judged before it passes.
enum class RuleGroup {
  kMemory,
  kCompute,
  kTensor,
  kHostLink,
  kGpuLinks,
  kFacts,
  kHealth,
  kDevices,  // their number
};
std::string_view to_string(RuleGroup group);  // "memory", "compute", "tensor", "host_link", ...
std::string_view label_of(RuleGroup group);   // "memory", "Tensor Cores", "links between GPUs"
// A ceiling's group; nullopt: not a GPU's.
std::optional<RuleGroup> rule_group_of(std::string_view resource);

// "tensor.bf16/burst"
std::string ceiling_name(const std::string& resource, Basis basis);

struct JudgedRule {
  std::string code;  // its kind: "slower", "unsteady", "fact", "missing", ...
  std::string name;  // "gpu0/tensor.bf16/burst"
  Outcome outcome = Outcome::kPass;
  std::string text = {};  // statement; text_of() for figures
  std::optional<RuleGroup> group = {};
  // For figures and facts:
  std::string label = {};  // "BF16 Tensor Cores burst"
  std::optional<double> value = {}, limit = {};
  std::optional<double> first_value = {};  // before a second measurement
  std::string unit = {};
  // For compared figures; `limit` is this yardstick's or the site's.
  std::optional<Yardstick> yardstick = {};
  double deviations = 0;                   // Student's t of the limit, if beyond the least loss
  bool vouched = false;                    // judged by something that knows healthy devices
  bool widened = false, too_wide = false;  // as in Assessment
  std::string cause = {};                  // explanation besides the limit
  std::string measurement = {};            // the point it came from
  std::string reason = {};                 // the site's, if its rules changed this one

  bool passes() const { return outcome < Outcome::kCannotJudge; }
};

// A value in the rule's unit: "4.2 TB/s", "0.987" for a ratio.
std::string value_text(const JudgedRule& rule, double value);
// "HBM read: 4.2 TB/s, 9.1 % below the median of 16 cards, limit 4.0 %"
std::string text_of(const JudgedRule& rule);

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
  RulesOf(std::string device, std::vector<JudgedRule>& all)
      : device_(std::move(device)), all_(all) {}
  // name: within the device, "tensor.bf16/burst"; empty: the device itself.
  JudgedRule& add(std::string_view code, std::string_view name, Outcome outcome, std::string text);

 private:
  std::string device_;  // "gpu0"
  std::vector<JudgedRule>& all_;
};

// Names that a user allows, and whether they were needed.
class Allowed {
 public:
  explicit Allowed(std::span<const std::string> names)
      : names_(names), used_(names.size(), false) {}
  void excuse(std::span<JudgedRule> rules);
  std::vector<std::string> unused() const;  // names that excused nothing

 private:
  std::span<const std::string> names_;
  std::vector<bool> used_;
};

// By outcome; then facts and errors, which may explain figures; then distance below the limit.
bool more_severe(const JudgedRule& a, const JudgedRule& b);
const JudgedRule* worst(std::span<const JudgedRule> rules);  // nullptr without rules

// The worst outcome, where excused rules pass; kCannotJudge without rules.
Outcome verdict(std::span<const JudgedRule> rules);

// Cards are distinguished by facts, so that more than others have cannot be judged; more than in
// earlier runs is an improvement.
enum class Usual { kOtherCards, kEarlierRuns };
// Compares a card's facts with the usual ones of `whose` ("other cards"). Less fails; a fact that
// could not be read cannot be judged.
void judge_facts(const CardFacts& card, const CardFacts& usual, std::string_view whose, Usual from,
                 RulesOf& rules);

}  // namespace peakline

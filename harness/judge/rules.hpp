#pragma once

// What a judgement says, one rule at a time: check, compare and fleet say it in the same words, and
// the same names excuse it.

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

// A part of a verdict that has to be judged before anything passes.
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
// That of a ceiling; nullopt: none of GPUs.
std::optional<RuleGroup> rule_group_of(std::string_view resource);

// "tensor.bf16/burst"
std::string ceiling_name(const std::string& resource, Basis basis);

struct JudgedRule {
  std::string code;  // its kind: "slower", "unsteady", "fact", "missing", ...
  std::string name;  // "gpu0/tensor.bf16/burst"
  Outcome outcome = Outcome::kPass;
  std::string text = {};  // what it says; of a figure, text_of() says it
  std::optional<RuleGroup> group = {};
  // A rule about a figure or a fact has these.
  std::string label = {};  // "BF16 Tensor Cores burst"
  std::optional<double> value = {}, limit = {};
  std::optional<double> first_value = {};  // before it was measured a second time
  std::string unit = {};
  // A figure that was compared has these; `limit` is by that yardstick, or by the site's rules.
  std::optional<Yardstick> yardstick = {};
  double deviations = 0;         // Student's t of the limit, where it is above the least loss
  bool vouched = false;          // something that knows healthy devices passes or fails it
  std::string cause = {};        // what explains the outcome beside the limit
  std::string measurement = {};  // the point that it came from
  std::string reason = {};       // the site's, where its rules changed this one

  bool passes() const { return outcome < Outcome::kCannotJudge; }
};

// A value of the rule in its unit: "4.2 TB/s", "0.987" of a ratio.
std::string value_text(const JudgedRule& rule, double value);
// "HBM read: 4.2 TB/s, 9.1 % below the median of 16 cards, limit 4.0 %"
std::string text_of(const JudgedRule& rule);

// What a site wants of a rule instead of what follows from the population.
struct RuleChange {
  std::string name;                     // of the rule, with its device or of any
  std::optional<double> limit = {};     // the lowest value that passes, in the figure's unit
  std::optional<double> loss = {};      // the same, as a share below the median of healthy cards
  std::optional<Outcome> outcome = {};  // of what does not pass: kWarn or kExcused
  std::string mode = {};                // of the runs that it is for; empty: any
  std::string reason = {};
  std::map<std::string, std::size_t> lines = {};  // of the file, by the keys that stand there
};

// Collects the rules about one device.
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

// The names that a user allows, and what became of them.
class Allowed {
 public:
  explicit Allowed(std::span<const std::string> names)
      : names_(names), used_(names.size(), false) {}
  // Excuses those that do not pass.
  void excuse(std::span<JudgedRule> rules);
  std::vector<std::string> unused() const;  // nothing of that name did not pass

 private:
  std::span<const std::string> names_;
  std::vector<bool> used_;
};

// The outcome decides; of equal ones, a fact or an error, which may explain the figures, or else
// that figure which lies furthest below its limit, is more severe.
bool more_severe(const JudgedRule& a, const JudgedRule& b);
const JudgedRule* worst(std::span<const JudgedRule> rules);  // nullptr: there are none

// That of the worst, where what is excused passes; without any rule nothing is known.
Outcome verdict(std::span<const JudgedRule> rules);

// What a card is held against, of what is known before anything is measured: `usual` has what
// `whose` ("other cards") have. A lesser card fails. Where cards are told apart by it (strict), a
// better one cannot be judged by them, nor one of which it could not be read.
void judge_facts(const CardFacts& card, const CardFacts& usual, std::string_view whose, bool strict,
                 RulesOf& rules);

}  // namespace peakline

#include "harness/judge/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Drivers and hypervisors reserve different amounts of memory.
constexpr double kMemoryTolerance = 0.01;
constexpr double kClockTolerance = 0.005;
// A maximum one step of the clock higher, as VBIOS versions of one card differ, is no other
// variant.
constexpr double kClockStep = 0.01;

std::string text_of(bool value, std::string_view) { return value ? "on" : "off"; }
std::string text_of(int value, std::string_view) { return std::to_string(value); }
std::string text_of(double value, std::string_view unit) { return format_value(value, unit); }

// kNeeded: must be read if the model has no population. kDivides: a mode that divides the card.
enum class FactKind { kPlain, kNeeded, kDivides };

struct FactRule {
  std::string_view name, label, unit;
  FactKind kind = FactKind::kPlain;
  double tolerance = 0;                       // a share
  std::optional<double> more_tolerated = {};  // upwards, if not as much
};

// The only list of judged facts; calls visit(member, rule) for each.
void for_each_fact(auto&& visit) {
  using enum FactKind;
  const auto add = [&](auto member, FactRule rule) { visit(member, rule); };
  add(&CardFacts::sm_count, {"sm_count", "SMs", "1", kNeeded});
  add(&CardFacts::memory_bytes, {"memory", "memory", "B", kPlain, kMemoryTolerance});
  add(&CardFacts::memory_bus_bits, {"memory_bus", "bits of the memory bus", "1"});
  add(&CardFacts::l2_bytes, {"l2", "L2", "B"});
  add(&CardFacts::power_limit_w, {"power_limit", "power limit", "W", kNeeded, kClockTolerance});
  add(&CardFacts::sm_clock_max_hz,
      {"sm_clock", "maximum SM clock", "Hz", kPlain, kClockTolerance, kClockStep});
  add(&CardFacts::memory_clock_max_hz,
      {"memory_clock", "maximum memory clock", "Hz", kPlain, kClockTolerance});
  add(&CardFacts::pcie_generation, {"pcie_generation", "PCIe generation under load", "1"});
  add(&CardFacts::pcie_width, {"pcie_width", "PCIe lanes under load", "1"});
  add(&CardFacts::nvlinks, {"nvlinks", "NVLinks that are up", "1"});
  add(&CardFacts::ecc_enabled, {"ecc", "ECC", "1", kNeeded});
  add(&CardFacts::mig_enabled, {"mig", "MIG", "1", kDivides});
}

template <class T>
void judge_fact(const FactRule& fact, const std::optional<T>& own, const std::optional<T>& usual,
                std::string_view whose, Usual from, RulesOf& rules) {
  if (!own && (usual || (fact.kind == FactKind::kNeeded && from == Usual::kNoPopulation))) {
    rules
        .add(RuleKind::kFact, std::string(fact.name), Outcome::kCannotJudge,
             fmt::format("{}: not read", fact.label))
        .group = RuleGroup::kFacts;
  }
  if (!own || !usual) return;
  const auto have = static_cast<double>(*own), expected = static_cast<double>(*usual);
  const std::string text = fmt::format("{}: {}", fact.label, text_of(*own, fact.unit));
  const std::string others = text_of(*usual, fact.unit);
  Judged& rule = rules.add(RuleKind::kFact, std::string(fact.name), Outcome::kPass, text);
  rule.group = RuleGroup::kFacts;
  rule.label = fact.label;
  rule.value = have;
  rule.limit = expected * (1 - fact.tolerance);
  rule.unit = fact.unit;
  const bool more = have > expected * (1 + fact.more_tolerated.value_or(fact.tolerance));
  if (have < *rule.limit ||
      (more && fact.kind == FactKind::kDivides && from == Usual::kEarlierRuns)) {
    rule.outcome = Outcome::kFail;
    rule.text = fmt::format("{}, {} {}", text, whose, others);
  } else if (more && from != Usual::kEarlierRuns) {
    rule.outcome = Outcome::kCannotJudge;
    rule.text = fmt::format("{}, {} only {}: another variant of the model?", text, whose, others);
  }
}

}  // namespace

std::string_view to_string(RuleKind kind) {
  return name_of(
      {"figure",         "method",          "unsteady",        "missing",    "duplicate",
       "fact",           "health",          "implausible",     "coverage",   "lost",
       "gpus",           "unusable",        "ended_early",     "slower",     "uneven",
       "method_changed", "clock_unknown",   "not_measured",    "failed",     "unverified",
       "not_verified",   "device_unusable", "different_model", "not_judged", "filtered"},
      kind);
}

std::string RuleName::within() const {
  if (!figure) return other;
  return to_string(*figure) + std::string(name_of({"", "/steady", "/twice"}, aspect));
}

std::string to_string(const RuleName& name) {
  const std::string within = name.within();
  return (name.machine.empty() ? "" : name.machine + '/') + name.device +
         (within.empty() ? "" : '/' + within);
}

std::string value_text(const Judged& rule, double value) {
  if (rule.unit != "1") return format_value(value, rule.unit);
  return rule.kind == RuleKind::kFact ? fmt::format("{:g}", value) : fmt::format("{:.3f}", value);
}

namespace {

// "9.1 % below the median of 16 cards, limit 4.5 %"
std::string held_against(const Judged& rule) {
  if (rule.limited_by_site || !rule.found) return {};
  const Yardstick& y = rule.found->by;
  if (y.kind == YardstickKind::kFloor)
    return fmt::format(", {} {}, {}", *rule.value < y.centre ? "below" : "above", y.source,
                       value_text(rule, y.centre));
  const double share = rule.share(*rule.value) - 1;
  std::string text =
      fmt::format(", {:.1f} % {} {}{}", std::abs(share) * 100, share < 0 ? "below" : "above",
                  y.kind == YardstickKind::kPrior ? "" : "the median of ", y.source);
  if (rule.outcome != Outcome::kPass && *rule.value < *rule.limit)
    text += fmt::format(", limit {:.1f} %", (1 - rule.share(*rule.limit)) * 100);
  return text;
}

// Whether a rule's figure lies below what a yardstick expects.
bool is_low(const Judged& rule) {
  return rule.kind == RuleKind::kFigure && rule.outcome == Outcome::kFail && rule.found &&
         !rule.limited_by_site;
}

}  // namespace

std::string describe(const Judged& rule) {
  std::string text = rule.text;
  if (rule.kind == RuleKind::kFigure) {
    text = fmt::format("{}: {}{}", rule.label, value_text(rule, *rule.value), held_against(rule));
  } else if (text.empty() && rule.kind == RuleKind::kMissing) {
    return fmt::format("{}: {}", rule.label, rule.cause);
  }
  if (rule.limited_by_site)
    text += fmt::format(", limit {} by the rules: {}", value_text(rule, *rule.limit), rule.reason);
  if (rule.first_value) text += fmt::format("; before: {}", value_text(rule, *rule.first_value));
  if (rule.cause.empty()) return text;
  if (rule.kind == RuleKind::kFigure && rule.outcome == Outcome::kCannotJudge)
    return fmt::format("{}: {}", rule.cause, text);
  return text + (text.empty() ? "" : "; ") + rule.cause;
}

std::string describe_alone(const Judged& rule) {
  if (!rule.disturbed) return describe(rule);
  Judged alone = rule;
  alone.cause.clear();
  return describe(alone);
}

std::string about_others(std::span<const Judged> rules) {
  const auto found = std::ranges::find_if(
      rules, [](const Judged& rule) { return rule.disturbed && rule.outcome == Outcome::kFail; });
  if (found == rules.end()) return "";
  return found->cause +
         ": free the GPU and run peakline check again; if it fails again, the GPU itself is slow";
}

std::string describe_worst(const Judged& worst, std::span<const Judged> rules) {
  const auto as_bad = std::ranges::count(rules, worst.outcome, &Judged::outcome);
  const std::string more =
      worst.outcome == Outcome::kFail && as_bad > 1 ? fmt::format(", and {} more", as_bad - 1) : "";
  if (worst.kind == RuleKind::kCoverage) return fmt::format("{}: {}", worst.label, worst.text);
  if (!is_low(worst)) {
    std::string text = describe(worst);
    if (text.ends_with('.')) text.pop_back();  // a finding's sentence
    return text + more;
  }
  const double share = worst.share(*worst.value);
  const std::string what =
      worst.by(YardstickKind::kFloor)
          ? fmt::format("{} of {}", format_percent(share), worst.found->by.source)
          : fmt::format("{} below {}", format_percent(1 - share),
                        worst.by(YardstickKind::kPrior) ? worst.found->by.source : "healthy");
  return fmt::format("{} {}{}{}", worst.label, what, more,
                     worst.cause.empty() ? "" : ": " + worst.cause);
}

Judged& RulesOf::add(RuleKind kind, std::string name, Outcome outcome, std::string text) {
  return all_.emplace_back(Judged{.kind = kind,
                                  .name = {.device = device_, .other = std::move(name)},
                                  .outcome = outcome,
                                  .text = std::move(text)});
}

Judged& RulesOf::add(RuleKind kind, FigureKey figure, Outcome outcome, std::string text) {
  return all_.emplace_back(Judged{.kind = kind,
                                  .name = {.device = device_, .figure = std::move(figure)},
                                  .outcome = outcome,
                                  .text = std::move(text)});
}

void Allowed::excuse(std::span<Judged> rules) {
  for (Judged& rule : rules) {
    if (names_.empty() || rule.outcome == Outcome::kPass) continue;
    const std::string name = to_string(rule.name);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name) continue;
      used_[i] = true;
      rule.outcome = Outcome::kExcused;
    }
  }
}

std::vector<std::string> Allowed::unused() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (!used_[i]) names.push_back(names_[i]);
  return names;
}

bool more_severe(const Judged& a, const Judged& b) {
  const auto severity = [](const Judged& rule) {
    const bool figure = rule.kind != RuleKind::kFact && rule.value && rule.limit;
    const double explains = rule.kind == RuleKind::kUnsteady ? -1 : 0;  // as a figure at its limit
    const bool by_itself = !rule.name.figure || !rule.name.figure->beside_siblings;
    return std::tuple(rule.outcome, by_itself, figure ? -*rule.value / *rule.limit : explains);
  };
  return severity(a) > severity(b);
}

const Judged* worst(std::span<const Judged> rules) {
  const Judged* found = nullptr;
  for (const Judged& rule : rules)
    if (found == nullptr || more_severe(rule, *found)) found = &rule;
  return found;
}

Outcome verdict(std::span<const Judged> rules) {
  const Judged* rule = worst(rules);
  if (rule == nullptr) return Outcome::kCannotJudge;
  return rule->outcome == Outcome::kExcused ? Outcome::kPass : rule->outcome;
}

void judge_facts(const CardFacts& card, const CardFacts& usual, std::string_view whose, Usual from,
                 RulesOf& rules) {
  for_each_fact([&](auto fact, const FactRule& rule) {
    judge_fact(rule, card.*fact, usual.*fact, whose, from, rules);
  });
}

std::vector<std::string> fact_names() {
  std::vector<std::string> names;
  for_each_fact([&](auto, const FactRule& rule) { names.emplace_back(rule.name); });
  return names;
}

}  // namespace peakline

#include "harness/judge/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>

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

struct FactRule {
  std::string_view name, label, unit;
  double tolerance = 0;                       // a share
  std::optional<double> more_tolerated = {};  // upwards, if not as much
  bool more_is_less = false;                  // a mode that divides the card
};

template <class T>
void judge_fact(const FactRule& fact, const std::optional<T>& own, const std::optional<T>& usual,
                std::string_view whose, Usual from, RulesOf& rules) {
  if (!usual) return;
  if (!own) {
    rules.add("fact", fact.name, Outcome::kCannotJudge, fmt::format("{}: not read", fact.label))
        .group = RuleGroup::kFacts;
    return;
  }
  const auto have = static_cast<double>(*own), expected = static_cast<double>(*usual);
  const std::string text = fmt::format("{}: {}", fact.label, text_of(*own, fact.unit));
  const std::string others = text_of(*usual, fact.unit);
  JudgedRule& rule = rules.add("fact", fact.name, Outcome::kPass, text);
  rule.group = RuleGroup::kFacts;
  rule.label = fact.label;
  rule.value = have;
  rule.limit = expected * (1 - fact.tolerance);
  rule.unit = fact.unit;
  const bool more = have > expected * (1 + fact.more_tolerated.value_or(fact.tolerance));
  if (have < *rule.limit || (more && fact.more_is_less && from == Usual::kEarlierRuns)) {
    rule.outcome = Outcome::kFail;
    rule.text = fmt::format("{}, {} {}", text, whose, others);
  } else if (more && from == Usual::kOtherCards) {
    rule.outcome = Outcome::kCannotJudge;
    rule.text = fmt::format("{}, {} only {}: another variant of the model?", text, whose, others);
  }
}

}  // namespace

std::string_view to_string(RuleGroup group) {
  return name_of(
      {"memory", "compute", "tensor", "host_link", "gpu_links", "facts", "health", "devices"},
      group);
}

std::string_view label_of(RuleGroup group) {
  return name_of({"memory", "compute", "Tensor Cores", "host link", "links between GPUs", "facts",
                  "health", "number of GPUs"},
                 group);
}

std::optional<RuleGroup> rule_group_of(std::string_view resource) {
  const std::string_view part = part_of(resource);
  for (const std::string_view memory : {"hbm", "l2", "l1", "shared"})
    if (part == memory) return RuleGroup::kMemory;
  if (part == "cuda_core" || part == "gemm") return RuleGroup::kCompute;
  if (part == "tensor") return RuleGroup::kTensor;
  if (part == "pcie" || part == "c2c") return RuleGroup::kHostLink;
  if (part == "nvlink" || part == "nccl" || part == "p2p") return RuleGroup::kGpuLinks;
  return std::nullopt;
}

std::string ceiling_name(const std::string& resource, Basis basis) {
  return resource + '/' + std::string(to_string(basis));
}

std::string value_text(const JudgedRule& rule, double value) {
  return rule.unit == "1" ? fmt::format("{:.3f}", value) : format_value(value, rule.unit);
}

std::string text_of(const JudgedRule& rule) {
  std::string text = rule.text;
  const auto written = [&](double value) { return value_text(rule, value); };
  if (rule.code == "figure") {
    text = fmt::format("{}: {}", rule.label, written(*rule.value));
    const auto& y = rule.yardstick;
    const bool site = !rule.reason.empty() && rule.limit;
    if (y && !site && y->kind == YardstickKind::kFloor) {
      text += fmt::format(", {} {}, {}", *rule.value < y->centre ? "below" : "above", y->source,
                          written(y->centre));
    } else if (y && !site) {
      const double share = *rule.value / y->centre - 1;
      text +=
          fmt::format(", {:.1f} % {} {}{}", std::abs(share) * 100, share < 0 ? "below" : "above",
                      y->kind == YardstickKind::kPrior ? "" : "the median of ", y->source);
      if (rule.limit && rule.outcome != Outcome::kPass && *rule.value < *rule.limit)
        text += fmt::format(", limit {:.1f} %", (1 - *rule.limit / y->centre) * 100);
    }
    if (site) text += fmt::format(", limit {} by the rules: {}", written(*rule.limit), rule.reason);
    if (rule.first_value) text += fmt::format("; before: {}", written(*rule.first_value));
  }
  if (rule.code == "fact" && !rule.reason.empty() && rule.limit)
    text += fmt::format(
        ", limit {} by the rules: {}",
        rule.unit == "1" ? fmt::format("{:g}", *rule.limit) : format_value(*rule.limit, rule.unit),
        rule.reason);
  if (rule.text.empty() && rule.code == "missing")
    return fmt::format("{}: {}", rule.label, rule.cause);
  if (rule.code == "figure" && rule.outcome == Outcome::kCannotJudge && !rule.cause.empty())
    return fmt::format("{}: {}", rule.cause, text);
  if (!rule.cause.empty()) text += (text.empty() ? "" : "; ") + rule.cause;
  return text;
}

JudgedRule& RulesOf::add(std::string_view code, std::string_view name, Outcome outcome,
                         std::string text) {
  JudgedRule& rule = all_.emplace_back();
  rule.code = code;
  rule.name = name.empty() ? device_ : fmt::format("{}/{}", device_, name);
  rule.outcome = outcome;
  rule.text = std::move(text);
  return rule;
}

void Allowed::excuse(std::span<JudgedRule> rules) {
  for (JudgedRule& rule : rules) {
    if (rule.outcome == Outcome::kPass) continue;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != rule.name) continue;
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

bool more_severe(const JudgedRule& a, const JudgedRule& b) {
  const auto severity = [](const JudgedRule& rule) {
    const bool figure = rule.code != "fact" && rule.value && rule.limit;
    const double explains = rule.code == "unsteady" ? -1 : 0;  // as a figure at its limit
    return std::pair(rule.outcome, figure ? -*rule.value / *rule.limit : explains);
  };
  return severity(a) > severity(b);
}

const JudgedRule* worst(std::span<const JudgedRule> rules) {
  const JudgedRule* found = nullptr;
  for (const JudgedRule& rule : rules)
    if (found == nullptr || more_severe(rule, *found)) found = &rule;
  return found;
}

Outcome verdict(std::span<const JudgedRule> rules) {
  const JudgedRule* rule = worst(rules);
  if (rule == nullptr) return Outcome::kCannotJudge;
  return rule->outcome == Outcome::kExcused ? Outcome::kPass : rule->outcome;
}

void judge_facts(const CardFacts& card, const CardFacts& usual, std::string_view whose, Usual from,
                 RulesOf& rules) {
  const auto judge = [&](auto fact, const FactRule& rule) {
    judge_fact(rule, card.*fact, usual.*fact, whose, from, rules);
  };
  judge(&CardFacts::sm_count, {"sm_count", "SMs", "1"});
  judge(&CardFacts::memory_bytes, {"memory", "memory", "B", kMemoryTolerance});
  judge(&CardFacts::memory_bus_bits, {"memory_bus", "bits of the memory bus", "1"});
  judge(&CardFacts::l2_bytes, {"l2", "L2", "B"});
  judge(&CardFacts::power_limit_w, {"power_limit", "power limit", "W", kClockTolerance});
  judge(&CardFacts::sm_clock_max_hz,
        {"sm_clock", "maximum SM clock", "Hz", kClockTolerance, kClockStep});
  judge(&CardFacts::memory_clock_max_hz,
        {"memory_clock", "maximum memory clock", "Hz", kClockTolerance});
  judge(&CardFacts::pcie_generation, {"pcie_generation", "PCIe generation under load", "1"});
  judge(&CardFacts::pcie_width, {"pcie_width", "PCIe lanes under load", "1"});
  judge(&CardFacts::nvlinks, {"nvlinks", "NVLinks that are up", "1"});
  judge(&CardFacts::ecc_enabled, {"ecc", "ECC", "1"});
  judge(&CardFacts::mig_enabled,
        {.name = "mig", .label = "MIG", .unit = "1", .more_is_less = true});
}

}  // namespace peakline

#include "harness/show/lint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::string value_text(const LintedRule& rule, double value) {
  return rule.unit.empty() || rule.unit == "1" ? fmt::format("{:g}", value)
                                               : format_value(value, rule.unit);
}

std::string effect_text(const LintedRule& rule) {
  const RuleChange& change = rule.change;
  std::string below;
  if (change.limit) below = "below " + value_text(rule, *change.limit);
  if (change.loss)
    below = fmt::format("{:.3g} % below the median of healthy cards", *change.loss * 100);
  if (!change.outcome) return "fails " + below;
  const std::string_view effect = *change.outcome == Outcome::kWarn ? "only warns" : "is left out";
  return below.empty() ? std::string(effect) : fmt::format("{} {}", effect, below);
}

std::string level_text(const LintedRule& rule, const HealthyLevel& level) {
  const RuleChange& change = rule.change;
  const std::string whose = fmt::format("{}, {} runs", level.model, level.mode);
  const std::string median = value_text(rule, level.median);
  if (change.loss)
    return fmt::format("{}: below {} (median {})", whose,
                       value_text(rule, level.median * (1 - *change.loss)), median);
  if (!change.limit) return fmt::format("{}: median {}", whose, median);
  const double share = *change.limit / level.median - 1;
  return fmt::format("{}: {:.1f} % {} the median, {}", whose, std::abs(share) * 100,
                     share < 0 ? "below" : "above", median);
}

}  // namespace

std::string lint_text(const std::string& file, std::span<const LintedRule> rules,
                      const ShowOptions& options) {
  std::string text =
      hanging(styled(Style::kBold, "SOUND") + "  ",
              fmt::format("{}: {}", file, format_count(rules.size(), "rule")), options.width);
  for (const LintedRule& rule : rules) {
    const std::string scope = fmt::format("{} of {}, in {} runs", rule.label,
                                          rule.device.empty() ? "every device" : rule.device,
                                          rule.change.mode.empty() ? "all" : rule.change.mode);
    text += '\n' + hanging(styled(Style::kBold, rule.change.name) + "  ", scope, options.width);
    text +=
        hanging("  ", fmt::format("{}: {}", effect_text(rule), rule.change.reason), options.width);
    for (const HealthyLevel& level : rule.levels)
      text += hanging("    ", level_text(rule, level), options.width);
  }
  return terminal_text(text, options.color);
}

}  // namespace peakline

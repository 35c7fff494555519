#include "harness/judge/lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>

#include "harness/values/closest.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

constexpr std::size_t kShown = 80;  // characters of a rule's name in a message
// Rules without a value.
constexpr std::array kStatements = {"complete", "gpus", "health", "implausible", "measurements"};
constexpr std::array kMeasuredBases = {Basis::kInstruction, Basis::kMeasured,
                                       Basis::kBurst,       Basis::kSustained,
                                       Basis::kModelBurst,  Basis::kModelShaped};

bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

// Removes "gpu0/" or "node/" from a rule's name.
std::string take_device(std::string_view& name) {
  const std::size_t slash = name.find('/');
  const std::string_view device = name.substr(0, slash);
  const bool gpu =
      device.size() > 3 && device.starts_with("gpu") &&
      std::ranges::all_of(device.substr(3), [](unsigned char c) { return std::isdigit(c); });
  if (slash == std::string_view::npos || !(gpu || device == "node")) return "";
  name.remove_prefix(slash + 1);
  return std::string(device);
}

bool is_statement(std::string_view name) {
  if (name.starts_with("health/"))  // findings have many codes
    return name.size() > 7 && std::ranges::all_of(name.substr(7), [](unsigned char c) {
             return std::islower(c) || c == '_';
           });
  for (int i = 0; !to_string(static_cast<RuleGroup>(i)).empty(); ++i)
    if (name == fmt::format("coverage/{}", to_string(static_cast<RuleGroup>(i)))) return true;
  return std::ranges::find(kStatements, name) != kStatements.end();
}

std::string model_of(const Population& population) {
  const CardFacts& facts = population.facts;
  return facts.gpus ? fmt::format("{} x {}", *facts.gpus, facts.model) : facts.model;
}

// Names of all known figures, "tensor.bf16/burst".
std::vector<std::string> figures_of(std::span<const Population> known, Benchmarks benchmarks) {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks)
    for (const CeilingRule& rule : benchmark.ceilings)
      names.push_back(to_string(FigureKey{rule.resource.name, rule.basis}));
  for (const Population& population : known)
    for (const PopulationFigure& figure : population.figures)
      names.push_back(to_string(FigureKey{figure.resource, figure.basis}));
  return names;
}

// "; did you mean gpu0/tensor.bf16/burst?"; a basis is added where the name has none.
std::string meant_rule(const RuleChange& change, std::string_view name,
                       std::vector<std::string> names) {
  const std::string_view device =
      std::string_view(change.name).substr(0, change.name.size() - name.size());
  const auto whole = std::ranges::find_if(
      names, [&](const std::string& each) { return each.starts_with(std::string(name) + '/'); });
  if (!name.empty() && whole != names.end())
    return fmt::format("; did you mean {}{}?", device, *whole);
  std::ranges::move(fact_names(), std::back_inserter(names));
  names.insert(names.end(), kStatements.begin(), kStatements.end());
  return did_you_mean(name, names, device);
}

// Fills in label, unit and levels; false without such a figure.
bool describe_figure(std::string_view name, std::span<const Population> known,
                     const std::vector<std::string>& figures, LintedRule& rule) {
  const bool steady = take_end(name, "/steady") || take_end(name, "/twice");
  const bool beside_siblings = !steady && take_end(name, "/siblings");
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view resource_name = name.substr(0, slash);
  const auto basis = std::ranges::find_if(
      kMeasuredBases, [&](Basis each) { return to_string(each) == name.substr(slash + 1); });
  if (basis == kMeasuredBases.end()) return false;
  std::string unit;
  for (const Population& population : known) {
    const PopulationFigure* const figure =
        find_figure(population, {std::string(resource_name), *basis, beside_siblings});
    if (figure == nullptr) continue;
    unit = figure->unit;
    if (rule.change.mode.empty() || rule.change.mode == population.mode)
      rule.levels.push_back({model_of(population), population.mode, figure->median});
  }
  const std::string_view of_all = without_pair(resource_name);
  const Resource* const resource = find_resource(of_all);
  const bool is_known =
      std::ranges::find(figures, to_string(FigureKey{std::string(of_all), *basis})) !=
      figures.end();
  if (!is_known || (resource == nullptr && unit.empty())) return false;
  if (unit.empty()) unit = beside_siblings ? "1" : resource->unit;
  rule.label = ceiling_label(
      resource != nullptr && of_all == resource_name ? resource->label : std::string(resource_name),
      *basis);
  if (beside_siblings) rule.label += " beside other precisions";
  if (steady) {
    rule.levels.clear();
    return true;
  }
  rule.unit = unit;
  return true;
}

// A level so far from the limit that its unit must be wrong: TFLOP/s for FLOP/s.
const HealthyLevel* far_off(const LintedRule& rule) {
  constexpr double kOtherUnit = 100;
  if (!rule.change.limit) return nullptr;
  const double limit = *rule.change.limit;
  const auto found = std::ranges::find_if(rule.levels, [&](const HealthyLevel& level) {
    return limit * kOtherUnit < level.median || limit > level.median * kOtherUnit;
  });
  return found == rule.levels.end() ? nullptr : &*found;
}

}  // namespace

LintedRule lint(const RuleChange& change, std::span<const Population> known,
                Benchmarks benchmarks) {
  LintedRule rule{.change = change};
  std::string_view name = change.name;
  rule.device = take_device(name);
  const std::vector<std::string> figures = figures_of(known, benchmarks);
  const bool figure = describe_figure(name, known, figures, rule);
  const std::vector<std::string> facts = fact_names();
  const bool fact = std::ranges::find(facts, name) != facts.end();
  if (!figure) rule.label = name;
  const auto mistaken = [&](std::string key, std::string_view what) {
    rule.key = std::move(key);
    rule.mistake = fmt::format("{}: {}", printable(change.name, kShown), what);
  };
  if (!figure && !fact && !is_statement(name))
    mistaken("name", fmt::format("no such rule{} (check --all lists them)",
                                 meant_rule(change, name, figures)));
  else if (change.loss && rule.unit.empty())
    mistaken("loss_percent", "the rule has no median to be below");
  else if (change.limit && rule.unit.empty() && !fact)
    mistaken("limit", "the rule has no value to compare with it");
  else if (const HealthyLevel* const level = far_off(rule))
    mistaken("limit", fmt::format("{:g} {} is far from what healthy cards measure, {:.4g} {}",
                                  *change.limit, rule.unit, level->median, rule.unit));
  return rule;
}

}  // namespace peakline

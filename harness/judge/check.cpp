#include "harness/judge/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/conclude/findings.hpp"
#include "harness/hardware/usual_spread.hpp"
#include "harness/judge/sides.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::string cards_text(const PopulationFigure& figure) {
  return format_count(static_cast<std::int64_t>(figure.cards), "card");
}

// "3.4 % below the median of 16 cards"
std::string place_text(const PopulationFigure& figure, double value) {
  const double share = value / figure.lowest_state - 1;
  return fmt::format("{:.1f} % {} the median of {}{}", std::abs(share) * 100,
                     share < 0 ? "below" : "above", cards_text(figure),
                     figure.lowest_state < figure.median ? " (their lower level)" : "");
}

std::string figure_text(double value, std::string_view unit) {
  return unit == "1" ? fmt::format("{:.3f}", value) : format_value(value, unit);
}

void judge_figure(const RunFigure& run, const PopulationFigure& figure,
                  const Population& population, std::string_view name, std::string label,
                  RulesOf& rules) {
  if (run.beside_siblings) label += " beside other precisions";
  JudgedRule& rule = rules.add("figure", name, Outcome::kPass,
                               fmt::format("{}: {}, {}", label, figure_text(run.value, run.unit),
                                           place_text(figure, run.value)));
  rule.label = label;
  rule.value = run.value;
  rule.limit = figure.limit;
  rule.unit = run.unit;
  rule.figure = &figure;
  if (population.limit_deviations * scatter_of(figure) > kLeastLoss)
    rule.deviations = population.limit_deviations;
  if (run.method_version && figure.method_version && run.method_version != figure.method_version) {
    rule.outcome = Outcome::kCannotJudge;
    rule.text = fmt::format("{}: measured by method {}, the population by method {}", label,
                            *run.method_version, *figure.method_version);
  } else if (run.value < *rule.limit) {
    const bool by_neighbours = neighbours_may_slow(population, figure, run.value);
    rule.outcome =
        only_warns(population, figure) || by_neighbours ? Outcome::kWarn : Outcome::kFail;
    rule.text += fmt::format(", limit {:.1f} %{}", (1 - *rule.limit / figure.lowest_state) * 100,
                             by_neighbours ? "; others on the host can cause that" : "");
  }
}

std::string rule_name(std::string_view resource, Basis basis, bool beside_siblings) {
  return ceiling_name(std::string(resource), basis) + (beside_siblings ? "/siblings" : "");
}

void judge_ceilings(const DeviceView& gpu, const Population& population, CheckedDevice& device,
                    RulesOf& rules) {
  const ResourceLabels labels(*gpu.profile);
  const CardRun run = card_run(gpu, "");
  for (const PopulationFigure& figure : population.figures) {
    const std::string name = rule_name(figure.resource, figure.basis, figure.beside_siblings);
    const std::string label = labels(figure.resource, figure.basis);
    const auto found = std::ranges::find_if(run.figures, [&](const RunFigure& f) {
      return f.resource == figure.resource && f.basis == figure.basis &&
             f.beside_siblings == figure.beside_siblings;
    });
    const auto row = std::ranges::find_if(gpu.ceilings, [&](const Ceiling* c) {
      return c->resource == figure.resource && c->basis == figure.basis;
    });
    if (found != run.figures.end()) {
      judge_figure(*found, figure, population, name, label, rules);
      if (row != gpu.ceilings.end()) device.rules.back().measurement = (*row)->measurement;
      continue;
    }
    if (figure.beside_siblings) continue;  // what it lacks is told by the ceiling itself
    const auto missing = std::ranges::find_if(gpu.missing_ceilings, [&](const MissingCeiling* m) {
      return m->resource == figure.resource && m->basis == figure.basis;
    });
    const bool tried = missing != gpu.missing_ceilings.end();
    // In a run that ended early another of its points might have served.
    const bool fails = tried && gpu.profile->complete;
    rules.add("missing", name, fails ? Outcome::kFail : Outcome::kCannotJudge,
              fmt::format("{}: {}", label, tried ? (*missing)->reason : "not measured"));
  }
  for (const Ceiling* row : gpu.ceilings) {
    const auto scatter = excessive_scatter(*row);
    if (!scatter || row->measurement.empty()) continue;
    rules
        .add("unsteady", ceiling_name(row->resource, row->basis) + "/steady",
             population.cards < kFewestCards ? Outcome::kWarn : Outcome::kFail,
             fmt::format("{}: unsteady, scatters by {} within the run, a healthy card's by less "
                         "than {}",
                         labels(row->resource, row->basis), format_percent(*scatter),
                         format_percent(most_own_scatter(*row))))
        .measurement = row->measurement;
  }
}

// Data that arrived wrong from another GPU are a fault of either, or of the link between them.
void judge_pairs(const DeviceView& gpu, const DeviceView& node, RulesOf& rules) {
  std::vector<std::string> points;
  std::set<int> others;
  for (const MeasuredPoint& point : *node.points) {
    const Measurement& m = *point.what;
    if (m.status == Status::kSkipped || m.verified != false) continue;
    const auto first = first_gpu(m.params), second = second_gpu(m.params);
    if (!first || !second || (gpu.facts->index != *first && gpu.facts->index != *second)) continue;
    points.push_back(m.name());
    others.insert(gpu.facts->index == *first ? *second : *first);
  }
  if (points.empty()) return;
  rules.add("health", "health/pairs", Outcome::kFail,
            fmt::format("copies between this GPU and GPU {} arrive with wrong data: either of the "
                        "two or the link is faulty ({})",
                        fmt::join(others, ", "), shortened(points)));
}

void judge_health(const DeviceView& gpu, RulesOf& rules) {
  std::set<std::string_view> seen;
  const auto told = [&](const Finding& finding) {
    if (finding.severity != Severity::kError || !seen.insert(finding.code).second) return;
    rules.add("health", fmt::format("health/{}", finding.code), Outcome::kFail, finding.message);
  };
  for (const Finding* finding : gpu.findings) told(*finding);
  const DeviceHealth& health = gpu.facts->after;
  if (health.remap_pending.value_or(false))
    rules.add("health", "health/remap_pending", Outcome::kFail,
              "a memory row is to be remapped: the GPU needs a reset");
  if (health.ecc.uncorrected.value_or(0) > 0 && !seen.contains("ecc_errors"))
    rules.add("health", "health/ecc_errors", Outcome::kFail,
              fmt::format("{} since the driver was loaded",
                          format_count(*health.ecc.uncorrected, "uncorrected ECC error")));
  if (seen.empty() && gpu.facts->unusable.empty())
    rules.add("health", "health", Outcome::kPass, "no errors were reported");
}

CheckedDevice checked(const DeviceView& gpu, const DeviceView& node,
                      std::span<const Population> populations) {
  const Profile& profile = *gpu.profile;
  CheckedDevice device{
      .name = device_key(gpu), .model = gpu.facts->name, .uuid = gpu.facts->uuid, .rules = {}};
  RulesOf rules(device.name, device.rules);
  judge_health(gpu, rules);
  judge_pairs(gpu, node, rules);
  if (!gpu.facts->unusable.empty()) {
    rules.add("unusable", "", Outcome::kFail, "cannot be measured: " + gpu.facts->unusable);
    return device;
  }
  if (!profile.complete && option_of(profile, "--filter").empty())
    rules.add("ended_early", "complete", Outcome::kCannotJudge, "the run ended early");
  const CardFacts card = card_facts(gpu);
  device.population = find_population(populations, card, profile.mode);
  if (device.population == nullptr) {
    rules.add("population", "population", Outcome::kCannotJudge,
              fmt::format("no {} runs of others known (--against)", profile.mode));
    return device;
  }
  judge_facts(card, device.population->facts, "other cards", true, rules);
  judge_ceilings(gpu, *device.population, device, rules);
  return device;
}

bool waits_for_a_second(const JudgedRule& rule) {
  return rule.outcome == Outcome::kFail && !rule.measurement.empty();
}

// What the rule says where the site's limit counts.
void set_limit(JudgedRule& rule, double limit, const std::string& reason) {
  rule.limit = limit;
  rule.deviations.reset();
  rule.reason = reason;
  rule.outcome = *rule.value < limit ? Outcome::kFail : Outcome::kPass;
  rule.text =
      fmt::format("{}: {}, limit {} by the rules: {}", rule.label,
                  figure_text(*rule.value, rule.unit), figure_text(limit, rule.unit), reason);
}

void change_rule(const RuleChange& change, JudgedRule& rule) {
  const bool judged = rule.value && rule.outcome != Outcome::kCannotJudge;
  if (change.limit && judged) set_limit(rule, *change.limit, change.reason);
  if (change.loss && judged && rule.figure != nullptr)
    set_limit(rule, rule.figure->lowest_state * (1 - *change.loss), change.reason);
  if (!change.outcome || rule.outcome == Outcome::kPass) return;
  rule.outcome = std::min(rule.outcome, *change.outcome);
  rule.reason = change.reason;
  rule.text +=
      fmt::format("; {} by the rules: {}",
                  *change.outcome == Outcome::kWarn ? "only warns" : "left out", change.reason);
}

// A limit for a ceiling that the population does not know.
void add_limit(const DeviceView& gpu, const RuleChange& change, std::string_view name,
               CheckedDevice& device) {
  RulesOf rules(device.name, device.rules);
  const auto row = std::ranges::find_if(gpu.ceilings, [&](const Ceiling* ceiling) {
    return !ceiling->measurement.empty() && ceiling_name(ceiling->resource, ceiling->basis) == name;
  });
  if (row == gpu.ceilings.end()) {
    rules.add("missing", name, Outcome::kCannotJudge,
              fmt::format("not measured; the rules ask for it: {}", change.reason));
    return;
  }
  JudgedRule& rule = rules.add("figure", name, Outcome::kPass, "");
  rule.label = ResourceLabels(*gpu.profile)((*row)->resource, (*row)->basis);
  rule.value = (*row)->value;
  rule.unit = (*row)->unit;
  rule.measurement = (*row)->measurement;
  set_limit(rule, *change.limit, change.reason);
}

// Returns whether the change is of any rule or figure of the device, or adds one.
bool apply(const RuleChange& change, const DeviceView& gpu, CheckedDevice& device) {
  std::string_view name = change.name;
  if (const std::string prefix = device.name + '/'; name.starts_with(prefix))
    name.remove_prefix(prefix.size());
  const auto rule =
      std::ranges::find(device.rules, fmt::format("{}/{}", device.name, name), &JudgedRule::name);
  if (rule != device.rules.end()) {
    change_rule(change, *rule);
    return true;
  }
  // "gpu1/..." is of another device, and a rule that is met may not be there.
  if (!change.limit || name.starts_with("gpu")) return false;
  add_limit(gpu, change, name, device);
  return true;
}

}  // namespace

const JudgedRule* CheckResult::worst(const CheckedDevice** device) const {
  const CheckedDevice* found = nullptr;
  for (const CheckedDevice& checked : devices) {
    const JudgedRule* const own = peakline::worst(checked.rules);
    if (own == nullptr) continue;
    if (found == nullptr || more_severe(*own, *peakline::worst(found->rules))) found = &checked;
  }
  if (device != nullptr && found != nullptr) *device = found;
  return found == nullptr ? nullptr : peakline::worst(found->rules);
}

Outcome CheckResult::verdict() const {
  const JudgedRule* const rule = worst();
  if (rule == nullptr) return Outcome::kCannotJudge;
  return rule->passes() ? Outcome::kPass : rule->outcome;
}

bool CheckResult::warned() const {
  return std::ranges::any_of(devices, [](const CheckedDevice& device) {
    return std::ranges::find(device.rules, Outcome::kWarn, &JudgedRule::outcome) !=
           device.rules.end();
  });
}

CheckResult check(const Profile& profile, const CheckOptions& options) {
  CheckResult result{.mode = profile.mode, .created = profile.created, .devices = {}, .unused = {}};
  Allowed allowed(options.allowed);
  std::set<std::string> applied;
  const std::vector<DeviceView> views = device_views(profile);
  const DeviceView& node = *std::ranges::find_if(views, &DeviceView::is_node);
  for (const DeviceView& view : views) {
    if (view.facts == nullptr) continue;
    CheckedDevice& device = result.devices.emplace_back(checked(view, node, options.populations));
    for (const RuleChange& change : options.changes) {
      const bool other_mode = !change.mode.empty() && change.mode != profile.mode;
      if (other_mode || apply(change, view, device)) applied.insert(change.name);
    }
    allowed.excuse(device.rules);
  }
  result.unused = allowed.unused();
  for (const RuleChange& change : options.changes)
    if (!applied.contains(change.name)) result.unused.push_back(change.name);
  return result;
}

std::vector<std::string> ids_to_measure_again(const CheckResult& result) {
  std::set<std::string> ids;
  for (const CheckedDevice& device : result.devices)
    for (const JudgedRule& rule : device.rules)
      if (waits_for_a_second(rule))
        ids.insert(rule.measurement.substr(0, rule.measurement.find('/')));
  return {ids.begin(), ids.end()};
}

void confirm(CheckResult& result, const CheckResult& again) {
  for (CheckedDevice& device : result.devices) {
    const auto second = std::ranges::find(again.devices, device.uuid, &CheckedDevice::uuid);
    if (second == again.devices.end()) continue;
    for (JudgedRule& rule : device.rules) {
      if (!waits_for_a_second(rule)) continue;
      const auto found = std::ranges::find(second->rules, rule.name, &JudgedRule::name);
      if (!rule.value) {  // unsteady: such a rule is there only where it fails
        if (found == second->rules.end()) rule.outcome = Outcome::kWarn;
        continue;
      }
      if (found == second->rules.end() || !found->value) continue;
      rule.first_value = rule.value;
      rule.value = found->value;
      const bool passes = found->outcome != Outcome::kFail;
      if (passes) rule.outcome = Outcome::kWarn;
      rule.text =
          fmt::format("{}; before: {}", found->text, figure_text(*rule.first_value, rule.unit));
    }
  }
}

CheckResult check_twice(const std::function<Attempt(const std::string& filter)>& attempt) {
  auto [result, stopped] = attempt("");
  const std::vector<std::string> ids = ids_to_measure_again(result);
  if (ids.empty()) return result;
  if (!stopped) {
    std::string filter;
    for (const std::string& id : ids) {
      filter += filter.empty() ? "^(" : "|";
      for (const char c : id) filter += c == '.' ? std::string("\\.") : std::string(1, c);
    }
    const Attempt second = attempt(filter + ")(/|$)");
    // A ceiling is the best of several points, of which one that is stopped may lack some.
    stopped = second.stopped;
    if (!stopped) confirm(result, second.result);
  }
  if (!stopped) return result;
  for (CheckedDevice& device : result.devices) {
    for (JudgedRule& rule : device.rules) {
      if (!waits_for_a_second(rule)) continue;
      rule.outcome = Outcome::kCannotJudge;
      rule.text = "no time to confirm: " + rule.text;
    }
  }
  return result;
}

}  // namespace peakline

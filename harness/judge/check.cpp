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

// Memory that a driver or a hypervisor keeps to itself differs by as much.
constexpr double kMemoryTolerance = 0.01;
constexpr double kClockTolerance = 0.005;

class Rules {
 public:
  Rules(CheckedDevice& device, std::span<const std::string> allowed)
      : device_(device), allowed_(allowed) {}

  CheckRule& add(std::string_view name, Outcome outcome, std::string text) {
    CheckRule& rule = device_.rules.emplace_back();
    rule.name = name.empty() ? device_.name : fmt::format("{}/{}", device_.name, name);
    rule.text = std::move(text);
    const bool excused = std::ranges::find(allowed_, rule.name) != allowed_.end();
    rule.outcome = excused && outcome != Outcome::kPass ? Outcome::kExcused : outcome;
    return rule;
  }

 private:
  CheckedDevice& device_;
  std::span<const std::string> allowed_;
};

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

std::string ceiling_label(const ResourceLabels& labels, std::string_view resource, Basis basis) {
  std::string label = labels(resource);
  return basis == Basis::kMeasured ? label : label + ' ' + basis_label(basis);
}

void judge_figure(const RunFigure& run, const PopulationFigure& figure,
                  const Population& population, std::string_view name, const std::string& label,
                  Rules& rules) {
  const double limit = limit_of(population, figure);
  const std::string beside = run.beside_siblings ? " beside other precisions" : "";
  const std::string value =
      run.beside_siblings ? fmt::format("{:.3f}", run.value) : format_value(run.value, run.unit);
  std::string text =
      fmt::format("{}{}: {}, {}", label, beside, value, place_text(figure, run.value));
  Outcome outcome = Outcome::kPass;
  if (run.method_version && figure.method_version && run.method_version != figure.method_version) {
    outcome = Outcome::kCannotJudge;
    text = fmt::format("{}{}: measured by method {}, the population by method {}", label, beside,
                       *run.method_version, *figure.method_version);
  } else if (run.value < limit) {
    outcome = only_warns(population, figure) ? Outcome::kWarn : Outcome::kFail;
    text += fmt::format(", limit {:.1f} %", (1 - limit / figure.lowest_state) * 100);
  }
  CheckRule& rule = rules.add(name, outcome, std::move(text));
  rule.value = run.value;
  rule.limit = limit;
  rule.median = figure.median;
  rule.unit = run.unit;
  rule.figure = &figure;
  if (limit < figure.lowest_state * (1 - kLeastLoss)) rule.deviations = population.limit_deviations;
}

std::string rule_name(std::string_view resource, Basis basis, bool beside_siblings) {
  return ceiling_name(std::string(resource), basis) + (beside_siblings ? "/siblings" : "");
}

void judge_ceilings(const DeviceView& gpu, const Population& population, CheckedDevice& device,
                    Rules& rules) {
  const ResourceLabels labels(*gpu.profile);
  const CardRun run = card_run(gpu, "");
  for (const PopulationFigure& figure : population.figures) {
    const std::string name = rule_name(figure.resource, figure.basis, figure.beside_siblings);
    const std::string label = ceiling_label(labels, figure.resource, figure.basis);
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
    rules.add(name, fails ? Outcome::kFail : Outcome::kCannotJudge,
              fmt::format("{}: {}", label, tried ? (*missing)->reason : "not measured"));
  }
  for (const Ceiling* row : gpu.ceilings) {
    const auto scatter = excessive_scatter(*row);
    if (!scatter || row->measurement.empty()) continue;
    rules
        .add(ceiling_name(row->resource, row->basis) + "/steady", Outcome::kFail,
             fmt::format("{}: unsteady, scatters by {} within the run, a healthy card's by less "
                         "than {}",
                         ceiling_label(labels, row->resource, row->basis), format_percent(*scatter),
                         format_percent(kMostOwnScatter)))
        .measurement = row->measurement;
  }
}

// A fact that both know.
template <class T, class Format>
void judge_fact(std::string_view name, std::string_view label, const std::optional<T>& own,
                const std::optional<T>& usual, double tolerance, Format format, Rules& rules) {
  if (!own || !usual) return;
  const auto have = static_cast<double>(*own), expected = static_cast<double>(*usual);
  if (have < expected * (1 - tolerance)) {
    rules.add(name, Outcome::kFail,
              fmt::format("{}: {}, other cards {}", label, format(*own), format(*usual)));
  } else if (have > expected * (1 + tolerance)) {
    rules.add(name, Outcome::kCannotJudge,
              fmt::format("{}: {}, other cards only {}: another variant of the model?", label,
                          format(*own), format(*usual)));
  } else {
    rules.add(name, Outcome::kPass, fmt::format("{}: {}", label, format(*own)));
  }
}

void judge_facts(const CardFacts& card, const CardFacts& usual, Rules& rules) {
  const auto number = [](int n) { return std::to_string(n); };
  const auto as = [](std::string_view unit) {
    return [unit](double value) { return format_value(value, unit); };
  };
  const auto on = [](bool value) { return value ? "on" : "off"; };
  judge_fact("sm_count", "SMs", card.sm_count, usual.sm_count, 0, number, rules);
  judge_fact("memory", "memory", card.memory_bytes, usual.memory_bytes, kMemoryTolerance, as("B"),
             rules);
  judge_fact("power_limit", "power limit", card.power_limit_w, usual.power_limit_w, kClockTolerance,
             as("W"), rules);
  judge_fact("sm_clock", "maximum SM clock", card.sm_clock_max_hz, usual.sm_clock_max_hz,
             kClockTolerance, as("Hz"), rules);
  judge_fact("memory_clock", "maximum memory clock", card.memory_clock_max_hz,
             usual.memory_clock_max_hz, kClockTolerance, as("Hz"), rules);
  judge_fact("pcie_generation", "PCIe generation under load", card.pcie_generation,
             usual.pcie_generation, 0, number, rules);
  judge_fact("pcie_width", "PCIe lanes under load", card.pcie_width, usual.pcie_width, 0, number,
             rules);
  judge_fact("nvlinks", "NVLinks that are up", card.nvlinks, usual.nvlinks, 0, number, rules);
  judge_fact("ecc", "ECC", card.ecc_enabled, usual.ecc_enabled, 0, on, rules);
  judge_fact("mig", "MIG", card.mig_enabled, usual.mig_enabled, 0, on, rules);
}

void judge_health(const DeviceView& gpu, Rules& rules) {
  std::set<std::string_view> seen;
  const auto told = [&](const Finding& finding) {
    if (finding.severity != Severity::kError || !seen.insert(finding.code).second) return;
    rules.add(fmt::format("health/{}", finding.code), Outcome::kFail, finding.message);
  };
  for (const Finding* finding : gpu.findings) told(*finding);
  const DeviceHealth& health = gpu.facts->after;
  if (health.remap_pending.value_or(false))
    rules.add("health/remap_pending", Outcome::kFail,
              "a memory row is to be remapped: the GPU needs a reset");
  if (health.ecc.uncorrected.value_or(0) > 0 && !seen.contains("ecc_errors"))
    rules.add("health/ecc_errors", Outcome::kFail,
              fmt::format("{} since the driver was loaded",
                          format_count(*health.ecc.uncorrected, "uncorrected ECC error")));
  if (seen.empty() && gpu.facts->unusable.empty())
    rules.add("health", Outcome::kPass, "no errors were reported");
}

CheckedDevice checked(const DeviceView& gpu, std::span<const Population> populations,
                      std::span<const std::string> allowed) {
  const Profile& profile = *gpu.profile;
  CheckedDevice device{.name = fmt::format("gpu{}", gpu.facts->index),
                       .model = gpu.facts->name,
                       .uuid = gpu.facts->uuid,
                       .rules = {}};
  Rules rules(device, allowed);
  judge_health(gpu, rules);
  if (!gpu.facts->unusable.empty()) {
    rules.add("", Outcome::kFail, "cannot be measured: " + gpu.facts->unusable);
    return device;
  }
  if (!profile.complete && option_of(profile, "--filter").empty())
    rules.add("complete", Outcome::kCannotJudge, "the run ended early");
  const CardFacts card = card_facts(gpu);
  device.population = find_population(populations, card, profile.mode);
  if (device.population == nullptr) {
    rules.add("population", Outcome::kCannotJudge,
              fmt::format("no {} runs of other {} cards are known: name some with --against",
                          profile.mode, card.model));
    return device;
  }
  judge_facts(card, device.population->facts, rules);
  judge_ceilings(gpu, *device.population, device, rules);
  return device;
}

bool waits_for_a_second(const CheckRule& rule) {
  return rule.outcome == Outcome::kFail && !rule.measurement.empty();
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  return name_of({"pass", "excused", "warn", "cannot_judge", "fail"}, outcome);
}

const CheckRule* CheckResult::worst(const CheckedDevice** device) const {
  const CheckRule* worst = nullptr;
  // Of equal ones, a fact or an error, which may explain the figures, or else that figure which
  // lies furthest below its limit.
  const auto severity = [](const CheckRule& rule) {
    return std::pair(rule.outcome, rule.value && rule.limit ? -*rule.value / *rule.limit : 0);
  };
  for (const CheckedDevice& checked : devices) {
    for (const CheckRule& rule : checked.rules) {
      if (worst != nullptr && severity(rule) <= severity(*worst)) continue;
      worst = &rule;
      if (device != nullptr) *device = &checked;
    }
  }
  return worst;
}

Outcome CheckResult::verdict() const {
  const CheckRule* rule = worst();
  if (rule == nullptr) return Outcome::kCannotJudge;
  return rule->outcome < Outcome::kCannotJudge ? Outcome::kPass : rule->outcome;
}

bool CheckResult::warned() const {
  return std::ranges::any_of(devices, [](const CheckedDevice& device) {
    return std::ranges::find(device.rules, Outcome::kWarn, &CheckRule::outcome) !=
           device.rules.end();
  });
}

CheckResult check(const Profile& profile, std::span<const Population> populations,
                  std::span<const std::string> allowed) {
  CheckResult result{.mode = profile.mode, .created = profile.created, .devices = {}, .unused = {}};
  for (const DeviceView& view : device_views(profile))
    if (view.facts != nullptr) result.devices.push_back(checked(view, populations, allowed));
  for (const std::string& name : allowed) {
    const bool used = std::ranges::any_of(result.devices, [&](const CheckedDevice& device) {
      return std::ranges::any_of(device.rules, [&](const CheckRule& rule) {
        return rule.name == name && rule.outcome == Outcome::kExcused;
      });
    });
    if (!used) result.unused.push_back(name);
  }
  return result;
}

std::vector<std::string> ids_to_measure_again(const CheckResult& result) {
  std::set<std::string> ids;
  for (const CheckedDevice& device : result.devices)
    for (const CheckRule& rule : device.rules)
      if (waits_for_a_second(rule))
        ids.insert(rule.measurement.substr(0, rule.measurement.find('/')));
  return {ids.begin(), ids.end()};
}

void confirm(CheckResult& result, const CheckResult& again) {
  for (CheckedDevice& device : result.devices) {
    const auto second = std::ranges::find(again.devices, device.uuid, &CheckedDevice::uuid);
    if (second == again.devices.end()) continue;
    for (CheckRule& rule : device.rules) {
      if (!waits_for_a_second(rule)) continue;
      const auto found = std::ranges::find(second->rules, rule.name, &CheckRule::name);
      if (!rule.value) {  // unsteady: such a rule is there only where it fails
        if (found == second->rules.end()) rule.outcome = Outcome::kWarn;
        continue;
      }
      if (found == second->rules.end() || !found->value) continue;
      rule.first_value = rule.value;
      rule.value = found->value;
      const bool passes = found->outcome != Outcome::kFail;
      if (passes) rule.outcome = Outcome::kWarn;
      const auto shown = [&](double value) {
        return rule.unit == "1" ? fmt::format("{:.3f}", value) : format_value(value, rule.unit);
      };
      rule.text = fmt::format("{}; before: {}", found->text, shown(*rule.first_value));
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
    for (CheckRule& rule : device.rules) {
      if (!waits_for_a_second(rule)) continue;
      rule.outcome = Outcome::kCannotJudge;
      rule.text = "no time to confirm: " + rule.text;
    }
  }
  return result;
}

}  // namespace peakline

#include "harness/show/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "harness/judge/health.hpp"
#include "harness/judge/population.hpp"
#include "harness/show/table.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

Cell outcome_cell(Outcome outcome) {
  const Style style = outcome == Outcome::kFail   ? Style::kRed
                      : outcome >= Outcome::kWarn ? Style::kYellow
                                                  : Style::kPlain;
  return text_cell(spaced(to_string(outcome)), style);
}

std::string outcome_word(Outcome outcome) { return text_of(outcome_cell(outcome), Column{}); }

// "PCIe" if all host links are, "NVLink".
std::string group_name(RuleGroup group, const CheckedDevice& device) {
  const auto has = [&](std::string_view part) {
    return std::ranges::any_of(device.rules, [&](const Judged& rule) {
      return rule.name.figure && part_of(rule.name.figure->resource) == part;
    });
  };
  if (group == RuleGroup::kHostLink && has("c2c")) return "NVLink-C2C";
  if (group == RuleGroup::kHostLink && has("pcie")) return "PCIe";
  if (group == RuleGroup::kGpuLinks && has("nvlink")) return "NVLink";
  return std::string(label_of(group));
}

constexpr std::array kGroups = {RuleGroup::kMemory,   RuleGroup::kCompute,  RuleGroup::kTensor,
                                RuleGroup::kHostLink, RuleGroup::kGpuLinks, RuleGroup::kHealth};

// Names of the groups in all devices' rules: those vouched for, or those that nothing vouches for.
std::vector<std::string> groups_of(const Checks& checks, bool judged) {
  std::vector<std::string> names;
  for (const RuleGroup group : kGroups) {
    bool there = false, open = false;
    std::string name;
    for (const CheckedDevice* device : checks.devices()) {
      for (const Judged& rule : device->rules) {
        if (rule.group != group) continue;
        there = true;
        open = open || rule.kind == RuleKind::kCoverage;
        if (name.empty() || rule.kind != RuleKind::kCoverage) name = group_name(group, *device);
      }
    }
    if (there && open != judged) names.push_back(name);
  }
  return names;
}

struct Worst {
  const CheckedFile* file = nullptr;
  const Judged* rule = nullptr;  // nullptr: the file has no GPU
  const CheckedDevice* device = nullptr;
};
Worst worst_of(const Checks& checks) {
  Worst worst;
  const Outcome verdict = checks.verdict();
  for (const CheckedFile& file : checks.files) {
    Worst found{.file = &file};
    found.rule = file.result.worst(&found.device);
    if (file.result.verdict() != verdict) continue;
    if (worst.rule == nullptr || (found.rule != nullptr && more_severe(*found.rule, *worst.rule)))
      worst = found;
  }
  return worst;
}

// Figures whose limit lies further below than usual, as they scatter within the run.
std::string wide_limits(const Checks& checks) {
  std::vector<std::string> names;
  for (const CheckedDevice* device : checks.devices())
    for (const Judged& rule : device->rules)
      if (rule.found && rule.found->widened && rule.passes())
        names.push_back(fmt::format("{} of {} ({:.1f} %)", rule.label, device->name,
                                    (1 - rule.share(*rule.limit)) * 100));
  return names.empty() ? "" : "; limits wider than usual: " + shortened(names);
}

// Measurements that failed, unless the first line is about them.
std::string failures(const Checks& checks, const Judged* told) {
  std::vector<std::string> names;
  for (const CheckedFile& file : checks.files)
    for (const CheckedDevice& device : file.result.devices)
      for (const Judged& rule : device.rules)
        if (&rule != told && rule.name.other == kFailedRule)
          names.push_back(
              who(checks.files.size() > 1 ? stem_of(file.file) : "", rule.name.device, "") + ": " +
              rule.label);
  return names.empty() ? "" : "; " + shortened(names);
}

// "node2 gpu0 (H100)": the file's name tells one of several machines.
std::string name_of(const CheckedFile& file, std::string_view device, std::string_view model,
                    const Checks& checks) {
  return who(checks.files.size() > 1 ? stem_of(file.file) : "", device, model);
}
std::string name_of(const Worst& worst, const Checks& checks) {
  const CheckedDevice& device = *worst.device;
  return name_of(*worst.file, worst.rule->name.device,
                 device.uuid == kNodeDevice ? "" : device.model, checks);
}

// The GPUs of a file's machine, by which its node is known.
std::set<std::string_view> gpus_of(const CheckedFile& file) {
  std::set<std::string_view> gpus;
  for (const CheckedDevice& device : file.result.devices)
    if (device.uuid != kNodeDevice) gpus.insert(device.uuid);
  return gpus;
}

// "; 1 more GPU fails: node3 gpu0; 5 of 7 other GPUs pass"
std::string of_others(const Checks& checks, const Worst& worst) {
  using Named = std::pair<std::string, Outcome>;
  std::map<std::string_view, Named> gpus;                    // the worst of a card's runs
  std::map<std::set<std::string_view>, std::string> as_bad;  // links of machines
  for (const CheckedFile& file : checks.files)
    for (const CheckedDevice& device : file.result.devices) {
      std::string name = name_of(file, device.name, "", checks);
      const Outcome outcome = verdict(device.rules);
      if (device.uuid == kNodeDevice) {
        if (outcome == checks.verdict()) as_bad.try_emplace(gpus_of(file), std::move(name));
      } else if (device.uuid != worst.device->uuid) {
        Named& known = gpus.try_emplace(device.uuid, std::move(name), Outcome::kPass).first->second;
        known.second = std::max(known.second, outcome);
      }
    }
  const bool of_links = worst.device->uuid == kNodeDevice;
  if (of_links) as_bad.erase(gpus_of(*worst.file));
  std::vector<Named> others;
  for (const auto& [card, gpu] : gpus) others.push_back(gpu);
  std::vector<std::string> links;
  for (auto& [machine, name] : as_bad) links.push_back(std::move(name));
  const bool all_pass =
      std::ranges::all_of(others, [](const auto& gpu) { return gpu.second < Outcome::kWarn; });
  if (of_links && all_pass && links.empty() && !others.empty())
    return "; each GPU by itself passes";
  return of_others(checks.verdict(), std::move(others), std::move(links));
}

// A line per group, with its worst outcome.
Table group_table(const CheckedDevice& device) {
  Table table{.key = "groups", .label_head = "group"};
  table.columns = {{.key = "outcome", .is_text = true}, {.key = "rules", .head = "rules"}};
  for (int i = 0; !to_string(static_cast<RuleGroup>(i)).empty(); ++i) {
    const auto group = static_cast<RuleGroup>(i);
    std::size_t count = 0;
    Outcome worst_outcome = Outcome::kPass;
    bool open = false;
    for (const Judged& rule : device.rules) {
      if (rule.group != group) continue;
      ++count;
      worst_outcome = std::max(worst_outcome, rule.outcome);
      open = open || (rule.kind == RuleKind::kCoverage && rule.outcome == Outcome::kCannotJudge);
    }
    if (count == 0) continue;
    table.rows.push_back(
        {.key = std::string(to_string(group)),
         .label = group_name(group, device),
         .cells = {open && worst_outcome == Outcome::kCannotJudge ? text_cell("not judged")
                                                                  : outcome_cell(worst_outcome),
                   number_cell(Format::kExact, static_cast<double>(count))}});
  }
  return table;
}

Cell figure_cell(const Judged& rule, double value) {
  if (rule.unit != "1") return value_cell(value, rule.unit);
  return number_cell(rule.kind == RuleKind::kFact ? Format::kExact : Format::kRatio, value);
}

// Figures with the yardstick that set their limit.
Table limits_table(const CheckedDevice& device) {
  Table table{.key = "limits", .label_head = "rule"};
  table.columns = {{.key = "outcome", .is_text = true},
                   {.key = "value", .head = "value", .dispensable = 1},
                   {.key = "of_healthy", .head = "vs healthy"},
                   {.key = "limit", .head = "limit"},
                   {.key = "healthy", .head = "healthy", .dispensable = 2},
                   {.key = "by", .head = "by", .is_text = true, .dispensable = 3}};
  for (const Judged& rule : device.rules) {
    if (!rule.found || !rule.limit) continue;
    // A floor says what is certainly wrong, not what is healthy.
    const bool floor = rule.by(YardstickKind::kFloor);
    const auto change = [&](double value) {
      return number_cell(Format::kChange, rule.share(value) - 1);
    };
    table.rows.push_back(
        {.key = to_string(rule.name),
         .label = to_string(rule.name),
         .cells = {outcome_cell(rule.outcome), figure_cell(rule, *rule.value),
                   floor ? text_cell("") : change(*rule.value),
                   floor ? figure_cell(rule, *rule.limit) : change(*rule.limit),
                   floor ? text_cell("") : figure_cell(rule, rule.found->by.centre),
                   text_cell(rule.found->by.source)},
         .remark = rule.reason.empty() ? "" : "by the rules: " + rule.reason});
  }
  return table;
}

std::string all_rules(const CheckedDevice& device, std::size_t width) {
  std::string text =
      text_of(group_table(device), width) + '\n' + text_of(limits_table(device), width);
  for (const Judged& rule : device.rules) {
    if (rule.found && rule.limit) continue;
    const bool judged = rule.kind != RuleKind::kFigure || rule.limit;
    text += hanging(fmt::format("  {}  {}  ", judged ? outcome_word(rule.outcome) : "open",
                                to_string(rule.name)),
                    describe(rule), width);
  }
  return text;
}

std::string runs_text(const Population& population) {
  std::string text = fmt::format(
      "{} in {} {} runs, driver {}", format_count(population.cards, "card"), population.runs,
      population.mode, population.drivers.empty() ? "not known" : joined(population.drivers));
  if (!population.left_out.empty()) {
    std::vector<std::string> names;
    for (const LeftOutCard& card : population.left_out) names.push_back(text_of(card));
    text += ", left out: " + shortened(names);
  }
  if (!population.last.empty())
    text +=
        fmt::format(", {} to {}", population.first.substr(0, 10), population.last.substr(0, 10));
  return text;
}

// The rule's text; for a judged figure, also its yardstick and limit. source: of the population.
std::string explanation(const Judged& rule, const CheckedDevice& device, std::string_view source,
                        std::size_t width) {
  std::string text = hanging(to_string(rule.name) + "  ", describe(rule), width);
  if (!rule.found || !rule.limit) return text;
  const Yardstick& y = rule.found->by;
  text += hanging(
      "  yardstick   ",
      y.kind == YardstickKind::kPopulation
          ? fmt::format("{}, {}; {}", device.model, runs_text(*device.known.population), source)
          : fmt::format("{}: {}", y.source, value_text(rule, y.centre)),
      width);
  if (y.kind != YardstickKind::kFloor) {
    text += hanging("  scatter     ",
                    fmt::format("{:.2f} % between cards, {:.2f} % between runs of a card",
                                y.between_cards * 100, y.between_runs * 100),
                    width);
    const std::string deviations =
        rule.found->deviations > 0
            ? fmt::format("{:.1f} standard deviations of cards and runs", rule.found->deviations)
            : "the smallest loss that is reported";
    const std::string margin =
        y.margin > 0 ? fmt::format(", and {:.0f} % for another model", y.margin * 100) : "";
    text += hanging("  limit       ",
                    fmt::format("{}: {:.1f} % below it, {}{}", value_text(rule, *rule.limit),
                                (1 - *rule.limit / y.centre) * 100, deviations, margin),
                    width);
  }
  return text + hanging("  false alarm ",
                        "one healthy run in 1000 has any figure below its limit, as far as these "
                        "cards can tell",
                        width);
}

}  // namespace

std::string check_sentence(const Checks& checks, bool count) {
  const Outcome verdict = checks.verdict();
  std::set<std::string_view> cards;
  std::string name, prior;
  std::vector<std::string> models;
  for (const CheckedDevice* device : checks.devices()) {
    if (device->uuid == kNodeDevice) continue;
    if (cards.insert(device->uuid).second && cards.size() == 1) name = device->name;
    if (std::ranges::find(models, device->model) == models.end()) models.push_back(device->model);
    if (device->known.population == nullptr && device->known.donor != nullptr)
      prior = device->known.donor->facts.model;
  }
  const bool given = std::ranges::all_of(
      checks.files, [](const CheckedFile& file) { return file.result.gpus_given; });
  const Worst worst = worst_of(checks);
  std::string text;
  if (!checks.why_none.empty()) {
    text = checks.why_none;
  } else if (cards.empty()) {
    std::vector<std::string> names;
    for (const CheckedFile& file : checks.files)
      if (!file.file.empty()) names.push_back(file.file);
    text = names.empty() ? "no GPU was measured" : "no GPU in " + shortened(names);
  } else if (worst.rule == nullptr) {
    text = fmt::format("no GPU in {}", worst.file->file);
  } else if (verdict == Outcome::kPass) {
    text = fmt::format("{}, {}{}: {}", cards.size() == 1 ? name : format_count(cards.size(), "GPU"),
                       fmt::join(models, ", "),
                       prior.empty() ? prior : fmt::format(" (by {} shares)", prior),
                       fmt::join(groups_of(checks, true), ", "));
    for (const std::string& open : groups_of(checks, false)) text += "; no verdict on " + open;
    for (const CheckedDevice* device : checks.devices())
      if (std::ranges::find(device->rules, RuleKind::kUnusable, &Judged::kind) !=
          device->rules.end())
        text += "; no verdict on " + device->name;
    text += wide_limits(checks) + failures(checks, nullptr);
    if (count && !given) text += " (--gpus N also checks that none is missing)";
  } else if (worst.rule->kind == RuleKind::kCoverage) {
    std::set<std::string> reasons;
    for (const CheckedDevice* device : checks.devices())
      for (const Judged& rule : device->rules)
        if (rule.kind == RuleKind::kCoverage) reasons.insert(rule.text);
    text = fmt::format("{}: {} not judged{}", name_of(worst, checks),
                       fmt::join(groups_of(checks, false), ", "),
                       reasons.size() == 1 ? ": " + *reasons.begin() : "");
    text += of_others(checks, worst) + failures(checks, worst.rule);
  } else {
    text = fmt::format("{}: {}", name_of(worst, checks),
                       describe_worst(*worst.rule, worst.device->rules));
    text += of_others(checks, worst) + failures(checks, worst.rule);
  }
  return text;
}

std::string check_line(const Checks& checks, bool count) {
  return verdict_line(checks.verdict(), check_sentence(checks, count));
}

std::string check_advice(const Checks& checks) {
  const std::vector<const CheckedDevice*> devices = checks.devices();
  if (devices.empty()) return {};
  const bool all_known = std::ranges::all_of(devices, [](const CheckedDevice* device) {
    return device->uuid == kNodeDevice || device->known.population != nullptr;
  });
  switch (checks.verdict()) {
    case Outcome::kFail:
      return "peakline check FILE names all that fails, and what to do";
    case Outcome::kCannotJudge:
      return all_known ? "peakline check FILE says what is missing"
                       : "peakline check FILE --against OTHERS compares it with profiles of yours";
    case Outcome::kWarn:
      return "peakline check FILE lists the warnings";
    default:
      return "";
  }
}

std::string check_text(const Checks& checks, bool all, const ShowOptions& options) {
  std::string text = check_line(checks);
  for (const CheckedFile& file : checks.files) {
    if (checks.files.size() > 1)
      text += '\n' + hanging(verdict_word(file.result.verdict()) + "  ", file.file, options.width);
    for (const CheckedDevice& device : file.result.devices) {
      if (all) {
        text += '\n' + section(fmt::format("{}, {}", device.name, device.model), "", options.width);
        text += all_rules(device, options.width);
        if (device.known.population != nullptr)
          text +=
              hanging("  population  ",
                      fmt::format("{}; {}; a limit lies {:.1f} standard deviations, and at least "
                                  "{:.0f} %, below",
                                  runs_text(*device.known.population), checks.source_of(device),
                                  device.known.population->limit_deviations, kLeastLoss * 100),
                      options.width);
        continue;
      }
      for (const Judged& rule : device.rules) {
        if (rule.outcome != Outcome::kPass || !rule.reason.empty())
          text +=
              hanging(fmt::format("  {}  {}  ", outcome_word(rule.outcome), to_string(rule.name)),
                      describe_alone(rule), options.width);
      }
      if (const std::string about = about_others(device.rules); !about.empty())
        text += hanging("  ", fmt::format("{}: {}", device.name, about), options.width);
    }
    for (const std::string& name : file.result.unused)
      text += hanging("  ", fmt::format("--allow {}: nothing of that name failed", name),
                      options.width);
  }
  if (const Judged* rule = worst_of(checks).rule;
      rule != nullptr && !all && rule->outcome == Outcome::kFail)
    text += hanging("  ",
                    styled(Style::kDim, fmt::format("--all has every rule; --explain {} says how "
                                                    "its limit came about",
                                                    to_string(rule->name))),
                    options.width);
  return terminal_text(text, options.color);
}

std::string explained_rule(const Checks& checks, std::string_view name, std::size_t width) {
  for (const CheckedDevice* device : checks.devices())
    for (const Judged& rule : device->rules)
      if (to_string(rule.name) == name || rule.name.within() == name)
        return terminal_text(explanation(rule, *device, checks.source_of(*device), width), false);
  return "";
}

std::vector<std::string> rule_names(const Checks& checks) {
  std::vector<std::string> names;
  for (const CheckedDevice* device : checks.devices())
    for (const Judged& rule : device->rules) names.push_back(rule.name.within());
  return names;
}

}  // namespace peakline

#include "harness/show/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>

#include "harness/judge/population.hpp"
#include "harness/show/json_document.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::string outcome_word(Outcome outcome) {
  static constexpr auto kPlain = [](Outcome o) { return spaced(to_string(o)); };
  switch (outcome) {
    case Outcome::kFail:
      return styled(Style::kRed, kPlain(outcome));
    case Outcome::kWarn:
    case Outcome::kCannotJudge:
      return styled(Style::kYellow, kPlain(outcome));
    default:
      return kPlain(outcome);
  }
}

// "tensor.bf16/burst 9.1 % low, limit 4.5 %"; other rules' text.
std::string brief(const CheckedDevice& device, const JudgedRule& rule) {
  if (rule.outcome != Outcome::kFail || !rule.value || !rule.limit || !rule.yardstick ||
      !rule.reason.empty())
    return text_of(rule);
  const Yardstick& y = *rule.yardstick;
  const std::string name = rule.name.substr(device.name.size() + 1);
  const std::string cause = rule.cause.empty() ? "" : "; " + rule.cause;
  if (y.kind == YardstickKind::kFloor)
    return fmt::format("{} {:.0f} % of {}{}", name, *rule.value / y.centre * 100, y.source, cause);
  const auto below = [&](double value) { return (1 - value / y.centre) * 100; };
  return fmt::format("{} {:.1f} % low, limit {:.1f} %{}{}", name, below(*rule.value),
                     below(*rule.limit),
                     y.kind == YardstickKind::kPrior ? " by " + y.source : std::string(), cause);
}

// "PCIe" if all host links are, "NVLink".
std::string group_name(RuleGroup group, const CheckedDevice& device) {
  const auto has = [&](std::string_view part) {
    return std::ranges::any_of(device.rules, [&](const JudgedRule& rule) {
      return rule.name.find('/' + std::string(part)) != std::string::npos;
    });
  };
  if (group == RuleGroup::kHostLink && has("c2c.")) return "NVLink-C2C";
  if (group == RuleGroup::kHostLink && has("pcie.")) return "PCIe";
  if (group == RuleGroup::kGpuLinks && has("nvlink.")) return "NVLink";
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
      for (const JudgedRule& rule : device->rules) {
        if (rule.group != group) continue;
        there = true;
        open = open || rule.code == "coverage";
        if (name.empty() || rule.code != "coverage") name = group_name(group, *device);
      }
    }
    if (there && open != judged) names.push_back(name);
  }
  return names;
}

struct Worst {
  std::string_view file;
  const JudgedRule* rule = nullptr;  // nullptr: the file has no GPU
  const CheckedDevice* device = nullptr;
};
Worst worst_of(const Checks& checks) {
  Worst worst;
  const Outcome verdict = checks.verdict();
  for (const CheckedFile& file : checks.files) {
    Worst found{.file = file.file};
    found.rule = file.result.worst(&found.device);
    if (file.result.verdict() != verdict) continue;
    if (worst.rule == nullptr ||
        (found.rule != nullptr && found.rule->outcome > worst.rule->outcome))
      worst = found;
  }
  return worst;
}

// A line per group, with its worst outcome.
std::string group_table(const CheckedDevice& device, std::size_t width) {
  TextTable table({left(2), left(2), right(2)});
  table.row({"group", "", "rules"});
  for (int i = 0; !to_string(static_cast<RuleGroup>(i)).empty(); ++i) {
    const auto group = static_cast<RuleGroup>(i);
    std::size_t count = 0;
    Outcome worst_outcome = Outcome::kPass;
    bool open = false;
    for (const JudgedRule& rule : device.rules) {
      if (rule.group != group) continue;
      ++count;
      worst_outcome = std::max(worst_outcome, rule.outcome);
      open = open || (rule.code == "coverage" && rule.outcome == Outcome::kCannotJudge);
    }
    if (count == 0) continue;
    table.row({group_name(group, device),
               open && worst_outcome == Outcome::kCannotJudge ? "not judged"
                                                              : outcome_word(worst_outcome),
               std::to_string(count)});
  }
  return table.render(width) + '\n';
}

std::string all_rules(const CheckedDevice& device, std::size_t width) {
  TextTable table({left(2), left(2), right(2, 1), right(2), right(2), right(2, 2), left(2, 3)});
  table.row({"rule", "", "value", "of healthy", "limit", "healthy", "by"});
  std::string others;
  for (const JudgedRule& rule : device.rules) {
    if (!rule.yardstick || !rule.limit) {
      const bool judged = rule.code != "figure" || rule.limit;
      others += hanging(
          fmt::format("  {}  {}  ", judged ? outcome_word(rule.outcome) : "open", rule.name),
          text_of(rule), width);
      continue;
    }
    const bool floor = rule.yardstick->kind == YardstickKind::kFloor;
    const auto share = [&](double value) {
      return fmt::format("{:+.1f} %", (value / rule.yardstick->centre - 1) * 100);
    };
    table.row({rule.name, outcome_word(rule.outcome), value_text(rule, *rule.value),
               floor ? "" : share(*rule.value), floor ? "" : share(*rule.limit),
               value_text(rule, rule.yardstick->centre), rule.yardstick->source});
    if (!rule.reason.empty()) table.heading("      by the rules: " + rule.reason);
  }
  return group_table(device, width) + table.render(width) + others;
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

// Of the population that judged the device.
std::string_view source_of(const Checks& checks, const CheckedDevice& device) {
  return device.known.built_in ? kBuiltIn : std::string_view(checks.source);
}

// The rule's text; for a judged figure, also its yardstick and limit. source: of the population.
std::string explanation(const JudgedRule& rule, const CheckedDevice& device,
                        std::string_view source, std::size_t width) {
  std::string text = hanging(rule.name + "  ", text_of(rule), width);
  if (!rule.yardstick || !rule.limit) return text;
  const Yardstick& y = *rule.yardstick;
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
        rule.deviations > 0
            ? fmt::format("{:.1f} standard deviations of cards and runs", rule.deviations)
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

json document_of(const Population* population, std::string_view source) {
  if (population == nullptr) return nullptr;
  return {
      {"source", source},
      {"cards", population->cards},
      {"runs", population->runs},
      {"drivers", population->drivers},
      {"left_out",
       array_of(
           population->left_out,
           [](const LeftOutCard& card) -> json {
             return {{"card", card.card}, {"figure", card.figure}, {"share", optional(card.share)}};
           })},
      {"revisions", population->revisions},
      {"first", text_or_null(population->first)},
      {"last", text_or_null(population->last)}};
}

}  // namespace

Outcome Checks::verdict() const {
  Outcome worst = why_none.empty() ? Outcome::kPass : Outcome::kCannotJudge;
  for (const CheckedFile& file : files) worst = std::max(worst, file.result.verdict());
  return worst;
}

std::vector<const CheckedDevice*> Checks::devices() const {
  std::vector<const CheckedDevice*> all;
  for (const CheckedFile& file : files)
    for (const CheckedDevice& device : file.result.devices) all.push_back(&device);
  return all;
}

std::string check_sentence(const Checks& checks, bool count) {
  const Outcome verdict = checks.verdict();
  std::size_t gpus = 0;
  std::string name, prior;
  std::vector<std::string> models;
  for (const CheckedDevice* device : checks.devices()) {
    if (device->uuid == kNodeDevice) continue;
    if (++gpus == 1) name = device->name;
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
  } else if (gpus == 0) {
    text = "no GPU in the profile";
  } else if (worst.rule == nullptr) {
    text = fmt::format("no GPU in {}", worst.file);
  } else if (verdict == Outcome::kPass) {
    text = fmt::format("{}, {}{}: {}", gpus == 1 ? name : format_count(gpus, "GPU"),
                       fmt::join(models, ", "),
                       prior.empty() ? prior : fmt::format(" (by {} shares)", prior),
                       fmt::join(groups_of(checks, true), ", "));
    for (const std::string& open : groups_of(checks, false)) text += "; no verdict on " + open;
    for (const CheckedDevice* device : checks.devices())
      if (std::ranges::find(device->rules, "unusable", &JudgedRule::code) != device->rules.end())
        text += "; no verdict on " + device->name;
    if (count && !given) text += "; number of GPUs not given";
  } else if (worst.rule->code == "coverage") {
    std::set<std::string> reasons;
    for (const CheckedDevice* device : checks.devices())
      for (const JudgedRule& rule : device->rules)
        if (rule.code == "coverage") reasons.insert(rule.text);
    text = fmt::format("{}, {}: {} not judged{}", worst.device->name, worst.device->model,
                       fmt::join(groups_of(checks, false), ", "),
                       reasons.size() == 1 ? ": " + *reasons.begin() : "");
  } else {
    text = fmt::format("{}, {}: {}", worst.device->name, worst.device->model,
                       brief(*worst.device, *worst.rule));
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
      return "peakline check FILE names all that fails";
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
      text += fmt::format("\n{}  {}\n", verdict_word(file.result.verdict()), file.file);
    for (const CheckedDevice& device : file.result.devices) {
      if (all) {
        text += '\n' + section(fmt::format("{}, {}", device.name, device.model), "", options.width);
        text += all_rules(device, options.width);
        if (device.known.population != nullptr)
          text +=
              hanging("  population  ",
                      fmt::format("{}; {}; a limit lies {:.1f} standard deviations, and at least "
                                  "{:.0f} %, below",
                                  runs_text(*device.known.population), source_of(checks, device),
                                  device.known.population->limit_deviations, kLeastLoss * 100),
                      options.width);
        continue;
      }
      for (const JudgedRule& rule : device.rules)
        if (rule.outcome != Outcome::kPass || !rule.reason.empty())
          text += hanging(fmt::format("  {}  {}  ", outcome_word(rule.outcome), rule.name),
                          text_of(rule), options.width);
    }
    for (const std::string& name : file.result.unused)
      text += fmt::format("  {}: allowed, but nothing of that name failed\n", name);
  }
  return terminal_text(text, options.color);
}

std::string explained_rule(const Checks& checks, std::string_view name, std::size_t width) {
  for (const CheckedDevice* device : checks.devices())
    for (const JudgedRule& rule : device->rules)
      if (rule.name == name || rule.name == fmt::format("{}/{}", device->name, name))
        return terminal_text(explanation(rule, *device, source_of(checks, *device), width), false);
  return "";
}

std::string check_json(const Checks& checks) {
  const json document = {
      {"schema", "peakline-check"},
      {"schema_version", 1},
      {"verdict", to_string(checks.verdict())},
      {"source", checks.source},
      {"why_none", text_or_null(checks.why_none)},
      {"profiles", array_of(checks.files, [&](const CheckedFile& file) -> json {
         return {{"file", text_or_null(file.file)},
                 {"created", file.result.created},
                 {"mode", file.result.mode},
                 {"verdict", to_string(file.result.verdict())},
                 {"devices",
                  array_of(file.result.devices,
                           [&](const CheckedDevice& device) -> json {
                             return {{"name", device.name},
                                     {"model", device.model},
                                     {"uuid", device.uuid},
                                     {"population", document_of(device.known.population,
                                                                source_of(checks, device))},
                                     {"rules", array_of(device.rules, [](const JudgedRule& rule) {
                                        return document_of(rule);
                                      })}};
                           })},
                 {"unused", file.result.unused}};
       })}};
  return document_text(document);
}

}  // namespace peakline

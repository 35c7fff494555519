#include "harness/show/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "harness/show/table.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::string label_of(const FleetGroup& group, const std::string& resource, Basis basis) {
  return ceiling_label(group.labels.at(resource), basis);
}

// "node7 GPU 2"; "" if none lies visibly below the others.
std::string lowest_on(const FleetGroup& group, const Distribution& row) {
  const FleetMember* lowest = nullptr;
  double least = 0;
  for (const FleetMember& member : group.members)
    for (const FleetCeiling& own : member.ceilings)
      if (static_cast<const FigureKey&>(own) == row && (lowest == nullptr || own.value < least)) {
        lowest = &member;
        least = own.value;
      }
  constexpr double kVisible = 0.0005;
  if (row.devices < 2 || row.lowest > row.median * (1 - kVisible)) return "";
  return lowest == nullptr ? "" : lowest->node + ' ' + lowest->device;
}

Table distributions(const FleetGroup& group) {
  // Ranks of columns: a narrow terminal drops the highest first.
  enum { kNever, kName, kHighest, kPercentiles };
  Table table{.key = "ceilings"};
  table.columns = {{.key = "median", .head = "median"},
                   {.key = "scatter", .head = "scatter", .if_any = true},
                   {.key = "lowest", .head = "lowest", .if_any = true},
                   {.key = "lowest_on",
                    .is_text = true,
                    .gap = 1,
                    .dispensable = kName,
                    .if_any = true,
                    .attached = true},
                   {.key = "p5", .head = "p5", .dispensable = kPercentiles, .if_any = true},
                   {.key = "p95", .head = "p95", .dispensable = kPercentiles, .if_any = true},
                   {.key = "highest", .head = "highest", .dispensable = kHighest, .if_any = true}};
  for (const Distribution& row : group.ceilings) {
    const auto cell = [&](Format format, double value) {
      return number_cell(format, row.devices < 2 ? std::nullopt : std::optional(value));
    };
    const auto change = [&](double value) { return cell(Format::kChange, value / row.median - 1); };
    std::string label = label_of(group, row.resource, row.basis);
    if (row.devices < group.members.size()) label += fmt::format(" ({})", row.devices);
    table.rows.push_back(
        {.key = to_string(FigureKey{row.resource, row.basis}),
         .label = std::move(label),
         .cells = {value_cell(row.median, row.unit), cell(Format::kFineShare, row.deviation),
                   change(row.lowest), text_cell(lowest_on(group, row)), change(row.p5),
                   change(row.p95), change(row.highest)}});
  }
  return table;
}

bool fails(const FleetMember& member, RuleKind kind) {
  return std::ranges::any_of(member.rules, [&](const Judged& rule) {
    return rule.kind == kind && rule.outcome == Outcome::kFail;
  });
}

// Of itself: the heading has a whole group's warnings.
bool warns(const FleetMember& member) {
  return std::ranges::any_of(member.rules, [](const Judged& rule) {
    return rule.outcome == Outcome::kWarn && rule.kind != RuleKind::kCoverage;
  });
}

Cell verdict_of(const FleetGroup& group, const FleetMember& member) {
  for (const auto& [kind, word] :
       {std::pair{RuleKind::kHealth, "faulty"}, std::pair{RuleKind::kUnusable, "faulty"},
        std::pair{RuleKind::kLost, "lost"}, std::pair{RuleKind::kFact, "lesser"},
        std::pair{RuleKind::kFigure, "slow"}, std::pair{RuleKind::kUnsteady, "unsteady"}})
    if (fails(member, kind)) return text_cell(word, Style::kRed);
  if (fails(member, RuleKind::kMissing) || fails(member, RuleKind::kGpus))
    return text_cell("incomplete", Style::kYellow);
  if (group.is_host)
    return group.judged ? text_cell("like its peers", Style::kGreen) : text_cell("not judged");
  switch (member.verdict()) {
    case Outcome::kFail:
      return text_cell("failed", Style::kRed);
    case Outcome::kCannotJudge:
      return text_cell("cannot judge", Style::kYellow);
    case Outcome::kWarn:
      return text_cell("warns", Style::kYellow);
    case Outcome::kPass:
    case Outcome::kExcused:
      break;
  }
  return text_cell("fine", Style::kGreen);
}

Table members(const FleetGroup& group, bool all) {
  Table table{.key = "members"};
  table.columns = {{.key = "device", .is_text = true},
                   {.key = "verdict", .is_text = true},
                   {.key = "reasons", .is_text = true}};
  for (const FleetMember& member : group.members) {
    // For a virtual machine's host, only failures.
    const bool nothing_to_say = !all || (group.is_host && !group.judged);
    const bool stands_out =
        !member.sound() || fails(member, RuleKind::kGpus) || (!group.is_host && warns(member));
    if (!stands_out && nothing_to_say) continue;
    table.rows.push_back({.key = member.uuid,
                          .label = member.node,
                          .cells = {text_cell(member.device), verdict_of(group, member),
                                    text_cell(joined(reasons_of(member), "; "))}});
  }
  return table;
}

bool is_host(const FleetGroup& group) { return group.is_host; }
bool is_node(const FleetGroup& group) { return group.is_node; }
bool is_gpu(const FleetGroup& group) { return !group.is_host && !group.is_node; }

// "3 GPUs", "2 hosts"; a node stands for the links between its GPUs.
std::string count_of(const FleetGroup& group, std::int64_t n) {
  return group.is_node ? "links of " + format_count(n, "machine")
                       : format_count(n, group.is_host ? "host" : "GPU");
}

std::string headline(const FleetGroup& group) {
  std::int64_t failed = 0, unknown = 0, warned = 0;
  for (const FleetMember& member : group.members) {
    const Outcome verdict = member.verdict();
    failed += verdict == Outcome::kFail;
    unknown += verdict == Outcome::kCannotJudge && !group.is_host;
    warned += verdict == Outcome::kWarn && !group.is_host;
  }
  const std::string text = fmt::format("{} · {} runs · {}", group.model, group.mode,
                                       count_of(group, std::ssize(group.members)));
  std::vector<std::string> parts;
  if (failed > 0) parts.push_back(fmt::format("{} not fine", failed));
  if (unknown > 0) parts.push_back(fmt::format("{} cannot be judged", unknown));
  if (warned > 0) parts.push_back(fmt::format("{} with a warning", warned));
  if (group.is_host && !group.judged)
    parts.push_back("not judged: virtual machines' hosts are shared");
  else if (parts.empty())
    parts.push_back(group.is_host ? "none stands out" : "all fine");
  return fmt::format("{}, {}", text, fmt::join(parts, ", "));
}

// "5 GPUs, links of 2 machines, 3 hosts", or without hosts, for which nothing vouches alone.
std::string counted(const Fleet& fleet, bool hosts) {
  std::vector<std::string> parts;
  for (const auto is_kind : {&is_gpu, &is_node, &is_host}) {
    if (is_kind == &is_host && !hosts) continue;
    std::set<std::string> cards;  // each may be in the groups of several modes
    const FleetGroup* found = nullptr;
    for (const FleetGroup& group : fleet.groups) {
      if (!is_kind(group)) continue;
      found = &group;
      for (const FleetMember& member : group.members) cards.insert(member.card);
    }
    if (found != nullptr) parts.push_back(count_of(*found, std::ssize(cards)));
  }
  return joined(parts);
}

// The verdict's reason.
// Names a machine instead of all its GPUs.
std::vector<std::string> names_of(const std::vector<FactHolder>& holders, const Drift& drift) {
  std::map<std::string, std::size_t> all, these;
  const auto count = [](const std::vector<FactHolder>& of, auto& counts) {
    for (const FactHolder& holder : of) ++counts[holder.machine];
  };
  for (const auto& [value, of] : drift.values) count(of, all);
  count(drift.unknown, all);
  count(holders, these);
  std::vector<std::string> names;
  for (const FactHolder& holder : holders) {
    const bool whole = these[holder.machine] == all[holder.machine];
    std::string name = holder.machine + (whole ? "" : ' ' + holder.device);
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

// "driver: 580.159 on 38 machines; 575.51 on node3, node9", or, without a majority, "driver:
// 580.159 on 2 machines, 575.51 on 2".
bool disturbed(const Fleet& fleet) {
  return std::ranges::any_of(fleet.groups, [](const FleetGroup& group) {
    return std::ranges::any_of(group.members, [](const FleetMember& member) {
      return !about_others(member.rules).empty();
    });
  });
}

}  // namespace

std::vector<std::string> reasons_of(const FleetMember& member) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_cause;
  for (const Judged& rule : member.rules) {
    if (rule.outcome == Outcome::kPass) continue;
    std::string cause, what;
    if (rule.kind == RuleKind::kCoverage) {
      cause = rule.text;
      what = rule.label;
    } else if (rule.kind == RuleKind::kMissing && rule.text.empty()) {
      cause = rule.cause;
      what = rule.label;
    } else if (rule.kind == RuleKind::kUnsteady && rule.disturbed) {
      cause = rule.cause;
      what = rule.label;
    } else if (rule.kind == RuleKind::kFigure && rule.value && rule.found) {
      cause = rule.cause.empty() ? "no cause known" : rule.cause;
      what = fmt::format("{} {}", rule.label, format_signed_percent(rule.share(*rule.value) - 1));
    } else {
      cause = describe(rule);
    }
    if (rule.outcome == Outcome::kExcused) cause += " (allowed)";
    auto found = std::ranges::find(by_cause, cause, &decltype(by_cause)::value_type::first);
    if (found == by_cause.end()) found = by_cause.insert(found, {cause, {}});
    if (!what.empty()) found->second.push_back(std::move(what));
  }
  std::vector<std::string> lines;
  for (const auto& [cause, what] : by_cause)
    lines.push_back(what.empty() ? cause : shortened(what) + ": " + cause);
  return lines;
}

// "node3 gpu0"
std::string name_of(const FleetMember& member) {
  return who(member.node, member.rules.empty() ? member.device : member.rules[0].name.device, "");
}

std::string fleet_sentence(const Fleet& fleet) {
  const Outcome verdict = fleet.verdict();
  std::string all = counted(fleet, false);
  if (all.empty()) all = counted(fleet, true);
  if (verdict == Outcome::kPass) return all + ": none stands out";
  const FleetMember* worst = nullptr;
  const FleetGroup* of = nullptr;
  std::map<std::string, std::pair<std::string, Outcome>> gpus;  // name and worst mode of each card
  std::vector<const FleetMember*> links;                        // and hosts that are as bad
  for (const FleetGroup& group : fleet.groups) {
    for (const FleetMember& member : group.members) {
      if (is_gpu(group)) {
        Outcome& outcome =
            gpus.try_emplace(member.card, name_of(member), Outcome::kPass).first->second.second;
        const bool as_group = member.verdict() == Outcome::kWarn && !warns(member);
        outcome = std::max(outcome, as_group ? Outcome::kPass : member.verdict());
      }
      if (member.verdict() != verdict || (group.is_host && member.sound())) continue;
      if (!is_gpu(group)) links.push_back(&member);
      if (worst != nullptr && !more_severe(member.rules[0], worst->rules[0])) continue;
      worst = &member;
      of = &group;
    }
  }
  if (worst == nullptr) return all + ": nothing could be judged";
  if (is_gpu(*of)) gpus.erase(worst->card);
  std::erase(links, worst);
  std::vector<std::pair<std::string, Outcome>> others;
  for (const auto& [card, gpu] : gpus) others.push_back(gpu);
  std::vector<std::string> as_bad;
  for (const FleetMember* member : links) as_bad.push_back(name_of(*member));
  const Judged& rule = worst->rules[0];
  return who(rule.name.machine, rule.name.device, is_gpu(*of) ? of->model : "") + ": " +
         describe_worst(rule, worst->rules) +
         of_others(verdict, std::move(others), std::move(as_bad));
}

std::string drift_sentence(const Drift& drift) {
  std::vector<std::pair<std::string, const std::vector<FactHolder>*>> values;
  for (const auto& [value, holders] : drift.values) values.emplace_back(value, &holders);
  std::ranges::stable_sort(values, std::greater{},
                           [](const auto& value) { return value.second->size(); });
  const std::string_view where = drift.of_gpus ? "for" : "on";
  std::vector<std::string> parts;
  for (const auto& [value, holders] : values) {
    const std::string counted =
        parts.empty() ? format_count(std::ssize(*holders), drift.of_gpus ? "GPU" : "machine")
                      : std::to_string(holders->size());
    parts.push_back(fmt::format(
        "{} {} {}", value, where,
        drift.majority && !parts.empty() ? shortened(names_of(*holders, drift)) : counted));
  }
  constexpr std::size_t kValuesShown = 4;
  if (parts.size() > kValuesShown) {
    const std::size_t more = parts.size() - kValuesShown;
    parts.resize(kValuesShown);
    parts.push_back(
        fmt::format("and {}", format_count(static_cast<std::int64_t>(more), "more value")));
  }
  std::string text = fmt::format("{}{}: {}", drift.fact,
                                 drift.of_gpus ? fmt::format(" ({})", drift.model) : std::string(),
                                 joined(parts, drift.majority ? "; " : ", "));
  if (!drift.unknown.empty())
    text += fmt::format("; not known {} {}", where, shortened(names_of(drift.unknown, drift)));
  return text;
}

std::string fleet_text(const Fleet& fleet, bool all, const ShowOptions& options) {
  const std::size_t width = options.width;
  std::string text = verdict_line(fleet.verdict(), fleet_sentence(fleet));
  for (const FleetGroup& group : fleet.groups) {
    const std::string table = text_of(members(group, all), width);
    text += (all ? "\n" : "") + hanging("", styled(Style::kBold, headline(group)), width);
    if (all) text += text_of(distributions(group), width) + (table.empty() ? "" : "\n");
    text += table;
  }
  if (!fleet.drift.empty()) text += styled(Style::kBold, "Drift of the stack") + "\n";
  for (const Drift& drift : fleet.drift) text += hanging("  ", drift_sentence(drift), width);
  if (disturbed(fleet))
    text += hanging("  ",
                    "Free the GPUs that others used and run peakline check there again; one that "
                    "fails again is slow itself.",
                    width);
  if (!fleet.in_future.empty())
    text += hanging("  ",
                    fmt::format("{}: dated in the future (a wrong clock?), so any other run of "
                                "the devices counts instead",
                                shortened(fleet.in_future)),
                    width);
  for (const std::string& name : fleet.unused)
    text += hanging("  ", fmt::format("--allow {}: no rule has that name", name), width);
  text += hanging(
      "",
      fmt::format("{}: {}{}.{}", format_count(fleet.profiles, "profile"), counted(fleet, true),
                  fleet.superseded == 0 ? std::string()
                                        : fmt::format("; {} of these devices left out",
                                                      format_count(fleet.superseded, "older run")),
                  all ? " scatter: the peers' median deviation, scaled to a standard deviation; "
                        "lowest to highest and percentiles against the median."
                      : " --all shows every device, and how the ceilings are distributed."),
      width);
  return terminal_text(text, options.color);
}

}  // namespace peakline

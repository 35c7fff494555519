#include "harness/judge/missing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// Adds a rule for a ceiling that the run lacks. If tried, it fails, unless the program skipped it,
// as for lack of free memory; skipped links are those that a GPU refuses.
void add_missing(const DeviceView& view, const std::string& resource, Basis basis,
                 const ResourceLabels& labels, RulesOf& rules) {
  const auto missing = std::ranges::find_if(view.missing_ceilings, [&](const auto* m) {
    return m->resource == resource && m->basis == basis;
  });
  const bool tried = missing != view.missing_ceilings.end();
  const std::string reason = tried ? (*missing)->reason : "not measured";
  const auto group = rule_group_of(resource);
  const bool skipped = reason.starts_with("skipped") && group != RuleGroup::kGpuLinks;
  // After an early end, another of its points might have served.
  const bool fails =
      tried && view.profile->complete && !skipped && !reason.starts_with("implausible");
  JudgedRule& rule = rules.add("missing", ceiling_name(resource, basis),
                               fails ? Outcome::kFail : Outcome::kCannotJudge, "");
  rule.group = group;
  rule.label = labels(resource, basis);
  rule.cause = reason;
}

// Whether another model's figure is expected of a card that has others of its group. Every model of
// a compute capability has the same, but for links.
bool expected_of_any_model(const PopulationFigure& figure, const CardRun& run) {
  const auto group = rule_group_of(figure.resource);
  if (run.facts.gpus || !group || group == RuleGroup::kGpuLinks) return false;
  return std::ranges::any_of(run.figures, [&](const RunFigure& own) {
    return group == RuleGroup::kHostLink ? part_of(own.resource) == part_of(figure.resource)
                                         : rule_group_of(own.resource) == group;
  });
}

// Both of a pair, the lower first.
using Pair = std::pair<int, int>;
std::set<Pair> linked_pairs(const Profile& profile) {
  std::set<int> gpus;
  for (const DeviceFacts& gpu : profile.devices)
    if (may_be_linked(gpu)) gpus.insert(gpu.index);
  std::set<Pair> pairs;
  for (const DeviceFacts& gpu : profile.devices)
    for (const PeerFacts& peer : gpu.peers)
      if (peer.nvlinks > 0 && gpus.contains(gpu.index) && gpus.contains(peer.index))
        pairs.insert(std::minmax(gpu.index, peer.index));
  return pairs;
}

}  // namespace

void judge_missing(const DeviceView& view, const CardRun& run, const Known& known,
                   const ResourceLabels& labels, RulesOf& rules) {
  const Population* const others = known.population != nullptr ? known.population
                                   : known.peers != nullptr    ? known.peers
                                                               : known.donor;
  if (others == nullptr) return;
  for (const PopulationFigure& f : others->figures) {
    // Peers expect what most of them have.
    if (others == known.peers && 2 * f.cards <= others->cards) continue;
    if (others == known.donor && !expected_of_any_model(f, run)) continue;
    // A missing ceiling is reported once, not again beside its siblings.
    const bool there = f.beside_siblings || std::ranges::any_of(run.figures, [&](const auto& own) {
                         return own.resource == f.resource && own.basis == f.basis;
                       });
    if (there) continue;
    // Collectives need a library that may be missing.
    const bool failed = std::ranges::any_of(view.missing_ceilings, [&](const auto* m) {
      return m->resource == f.resource && m->basis == f.basis && !m->reason.starts_with("skipped");
    });
    if (part_of(f.resource) == "nccl" && !failed) continue;
    add_missing(view, f.resource, f.basis, labels, rules);
  }
}

void judge_sources(const DeviceView& view, RulesOf& rules) {
  std::vector<std::string> lost;
  for (const Ceiling* row : view.ceilings)
    if (!row->measurement.empty() && view.source(*row) == nullptr)
      lost.push_back(ceiling_name(row->resource, row->basis));
  if (!lost.empty())
    rules.add("lost", "measurements", Outcome::kCannotJudge,
              "the profile lacks the measurements of " + shortened(lost));
}

bool may_be_linked(const DeviceFacts& gpu) {
  return gpu.unusable.empty() && !gpu.mig_enabled.value_or(false);
}

void judge_missing_pairs(const DeviceView& node, RulesOf& rules) {
  std::map<std::pair<std::string_view, Basis>, std::set<std::string>> measured;
  for (const Ceiling* row : node.ceilings)
    if (const std::string_view of_all = without_pair(row->resource);
        !row->measurement.empty() && of_all != row->resource)
      measured[{of_all, row->basis}].insert(row->resource);
  const ResourceLabels labels(*node.profile);
  const std::set<Pair> linked = linked_pairs(*node.profile);
  for (auto& [figure, pairs] : measured) {
    const auto& [of_all, basis] = figure;
    for (const MissingCeiling* m : node.missing_ceilings)
      if (without_pair(m->resource) == of_all && of_all != m->resource &&
          pairs.insert(m->resource).second)
        add_missing(node, m->resource, basis, labels, rules);
    for (const auto& [low, high] : linked)
      if (const std::string pair = fmt::format("{}.{}-{}", of_all, low, high);
          !pairs.contains(pair) && !pairs.contains(fmt::format("{}.{}-{}", of_all, high, low)))
        add_missing(node, pair, basis, labels, rules);
  }
}

}  // namespace peakline

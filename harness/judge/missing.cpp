#include "harness/judge/missing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

// A benchmark is skipped where the hardware or its free memory does not allow it; links are skipped
// where a GPU refuses them.
bool speaks_against_hardware(Absence why, std::optional<RuleGroup> group) {
  switch (why) {
    case Absence::kSkipped:
      return group == RuleGroup::kGpuLinks;
    case Absence::kFailed:
    case Absence::kWrongResult:
    case Absence::kFewSamples:
      return true;
    case Absence::kUnknown:
    case Absence::kImplausible:
    case Absence::kUnreadable:
      return false;
  }
  return false;
}

// Adds a rule for a ceiling that the run lacks, which fails if it was tried for in vain.
void add_missing(const DeviceView& view, const FigureKey& key, const ResourceLabels& labels,
                 RulesOf& rules) {
  const auto missing = std::ranges::find_if(view.missing_ceilings, [&](const auto* m) {
    return m->resource == key.resource && m->basis == key.basis;
  });
  const bool tried = missing != view.missing_ceilings.end();
  const auto group = rule_group_of(key.resource);
  // After an early end, another of its points might have served.
  const bool fails =
      tried && view.profile->complete && speaks_against_hardware((*missing)->why, group);
  Judged& rule =
      rules.add(RuleKind::kMissing, key, fails ? Outcome::kFail : Outcome::kCannotJudge, "");
  rule.group = group;
  rule.label = labels(key);
  rule.cause = tried ? (*missing)->reason : "not measured";
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

// Whether the measurement has the ceiling's value. A profile rounds both alike.
bool comes_from(const Ceiling& row, const Measurement* source) {
  constexpr double kRounding = 1e-6;
  return source != nullptr && source->status == Status::kOk && source->value &&
         source->unit == row.unit && std::abs(*source->value - row.value) <= kRounding * row.value;
}

// Measured between each two GPUs.
constexpr std::array<std::string_view, 3> kOfPairs = {"nvlink.read", "nvlink.write",
                                                      "nvlink.bidirectional"};

std::set<int> linkable(const Profile& profile) {
  std::set<int> gpus;
  for (const DeviceFacts& gpu : profile.devices)
    if (may_be_linked(gpu)) gpus.insert(gpu.index);
  return gpus;
}

std::set<GpuPair> linked_pairs(const Profile& profile) {
  const std::set<int> gpus = linkable(profile);
  std::set<GpuPair> pairs;
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
    if (others == known.donor && !expected_of_any_model(f, run)) continue;
    // A missing ceiling is reported once, not again beside its siblings.
    const bool there = f.beside_siblings || std::ranges::any_of(run.figures, [&](const auto& own) {
                         return own.resource == f.resource && own.basis == f.basis;
                       });
    if (there) continue;
    // Newer versions measure what few cards have; collectives need a library that may be missing.
    const bool known_to_run = others != known.peers &&
                              std::ranges::find(view.profile->resources, f.resource,
                                                &Resource::name) != view.profile->resources.end();
    const bool expected = 2 * f.cards > others->cards || known_to_run;
    const bool failed = std::ranges::any_of(view.missing_ceilings, [&](const auto* m) {
      return m->resource == f.resource && m->basis == f.basis && m->why != Absence::kSkipped;
    });
    if ((!expected || part_of(f.resource) == "nccl") && !failed) continue;
    add_missing(view, f, labels, rules);
  }
}

void judge_sources(const DeviceView& view, RulesOf& rules) {
  std::vector<std::string> lost;
  for (const Ceiling* row : view.ceilings)
    if (!row->measurement.empty() && row->value > 0 && !comes_from(*row, view.source(*row)))
      lost.push_back(to_string(FigureKey{row->resource, row->basis}));
  if (!lost.empty())
    rules.add(RuleKind::kLost, "measurements", Outcome::kCannotJudge,
              "the profile lacks the measurements of " + shortened(lost));
}

bool may_be_linked(const DeviceFacts& gpu) {
  return gpu.unusable.empty() && !gpu.mig_enabled.value_or(false);
}

void judge_missing_pairs(const DeviceView& node, RulesOf& rules) {
  std::map<std::pair<std::string_view, Basis>, std::set<std::string>> measured;
  for (const Ceiling* row : node.ceilings)
    if (const std::string_view of_all = without_pair(row->resource);
        !row->measurement.empty() && std::ranges::find(kOfPairs, of_all) != kOfPairs.end())
      measured[{of_all, row->basis}].insert(row->resource);
  const ResourceLabels labels(*node.profile);
  const std::set<GpuPair> linked = linked_pairs(*node.profile);
  for (auto& [figure, pairs] : measured) {
    const auto& [of_all, basis] = figure;
    for (const MissingCeiling* m : node.missing_ceilings)
      if (without_pair(m->resource) == of_all && of_all != m->resource &&
          pairs.insert(m->resource).second)
        add_missing(node, {m->resource, basis}, labels, rules);
    const bool both_ways = of_all == kOfPairs.back();
    const auto has = [&, &all = of_all, &found = pairs](int from, int to) {
      return found.contains(fmt::format("{}.{}-{}", all, from, to));
    };
    for (const auto& [low, high] : linked)
      for (const auto& [from, to] : {std::pair(low, high), std::pair(high, low)})
        if (both_ways ? from < to && !has(from, to) && !has(to, from) : !has(from, to))
          add_missing(node, {fmt::format("{}.{}-{}", of_all, from, to), basis}, labels, rules);
  }
}

void judge_omitted(const DeviceView& node, const CardRun& run, std::span<Judged> rules) {
  std::set<GpuPair> gpus;
  for (const int gpu : linkable(*node.profile)) gpus.emplace(gpu, gpu);
  const std::set<GpuPair> pairs = linked_pairs(*node.profile);
  for (const RunFigure& figure : run.figures) {
    if (figure.of.empty()) continue;
    const bool of_gpus = figure.of.begin()->first == figure.of.begin()->second;
    std::vector<std::string> omitted;
    for (const auto& [low, high] : of_gpus ? gpus : pairs)
      if (!figure.of.contains({low, high}))
        omitted.push_back(of_gpus ? std::to_string(low) : fmt::format("{}-{}", low, high));
    for (Judged& rule : rules) {
      if (omitted.empty() || rule.name.figure != figure || rule.outcome == Outcome::kFail) continue;
      rule.outcome = Outcome::kCannotJudge;
      if (rule.found) rule.found->vouched = false;
      rule.cause = fmt::format("not measured for GPU {}", shortened(omitted));
    }
  }
}

}  // namespace peakline

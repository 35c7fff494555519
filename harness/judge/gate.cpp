// The reasons for which a gate fails: the new side is slower, or lacks or fails something that the
// old side has. Codes, and the ends of names:
//   slower           a ceiling; the median of a curve, or a part of it, that says more than its
//                    ceilings
//   unsteady         a ceiling slower in some new runs but not in their mean, or with excessive
//                    scatter within a run, on either side
//   method_changed   a benchmark with another method: it cannot be judged
//   not_measured     skipped on the new side, as for lack of memory or of NCCL: it cannot be judged
//   missing          a device, ceiling or benchmark without a sound result on the new side, or in
//                    one of its runs although all old ones have it
//   clock_unknown    missing as implausible, which a clock above the stated maximum may explain
//                    that the profile lacks: it cannot be judged
//   failed           a benchmark with new errors or wrong results
//   unverified       verification: sound results are no longer verified
//   not_verified     verification: not asked for, or on neither side: results cannot be judged
//   device_unusable  the device cannot be measured
//   different_model  model: nothing can be judged
//   uneven           a ceiling or curve that would be slower, but for runs that differ
//                    implausibly: it cannot be judged
//   figure           a rate far above its theory or healthy cards', which no old run has: it cannot
//                    be judged
//   not_judged       judged: no common figure of the device is conclusive; machine: nothing was
//                    judged; coverage/memory, ...: runs of most of a group's figures differ too
//                    much
//   filtered         machine/filter: a new run in another mode omits an unknown part
//   fact             less hardware: fewer SMs, less memory, a lower power limit, ...
//   ended_early      machine/run: a new run was interrupted; machine/old_run: all old ones were, so
//                    that nobody knows how fast the rest was
//   health           a new problem that check finds with a GPU or the host (health/xid, ...); a
//                    GPU that only the new side has is checked like any other;
//                    machine: the code of a finding of severity "error"
// Points that the new runs' mode omits are not missing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/judge/card_runs.hpp"
#include "harness/judge/check.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/losses.hpp"
#include "harness/judge/missing.hpp"
#include "harness/judge/sides.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Failures, wrong, impossible and unverified results are reported by benchmark, an unusable device
// as such.
bool told_elsewhere(std::string_view code) {
  static constexpr std::array<std::string_view, 5> kCodes = {"failed", "unverified", "not_verified",
                                                             "implausible", "device_unusable"};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

// A device's problems in any of the runs, by rule name.
std::map<std::string, Judged> errors_of(const Runs& runs, const std::string& device) {
  std::vector<Judged> all;
  RulesOf rules(device, all);
  for (const DeviceView& run : runs) {
    if (run.facts != nullptr)
      judge_health(run, rules);
    else
      judge_findings(run, rules);
    if (!run.is_host()) judge_sources(run, rules);
  }
  std::map<std::string, Judged> errors;
  for (Judged& rule : all)
    if (!rule.passes() &&
        !told_elsewhere(std::string_view(rule.name.other).substr(rule.name.other.rfind('/') + 1)))
      errors.try_emplace(to_string(rule.name), std::move(rule));
  return errors;
}

void new_errors(const DevicePair& pair, const Reasons& out) {
  const auto before = errors_of(pair.base, out.device);
  for (auto& [name, rule] : errors_of(pair.next, out.device))
    if (!before.contains(name)) out.all.push_back(rule);
}

// New findings of severity "error" that concern no single device.
void new_machine_errors(const MachineSides& sides, Reasons& machine) {
  const auto errors = [](const std::vector<const Profile*>& profiles) {
    std::map<std::string_view, std::string_view> all;
    for (const Profile* profile : profiles)
      for (const Finding& finding : profile->findings)
        if (finding.device.empty() && finding.severity == Severity::kError &&
            !told_elsewhere(finding.code))
          all.try_emplace(finding.code, finding.message);
    return all;
  };
  const auto before = errors(sides.base);
  for (const auto& [code, message] : errors(sides.next))
    if (!before.contains(code))
      machine.add(RuleKind::kHealth, std::string(code), std::string(message));
}

// "scatters by 23 % within a run, ..."
std::string unsteady_text(const CeilingComparison& c) {
  const auto &before = c.base.excessive_scatter, &after = c.next.excessive_scatter;
  const auto worst = std::max(before, after);
  if (!worst)
    return fmt::format("slower in {} of {} new runs, down to {:.3f} times as fast", c.slow_runs,
                       c.next.runs, c.slowest_run);
  const char* const which = before && after ? "a" : before ? "an old" : "a new";
  return fmt::format(
      "scatters by {} within {} run, far more than a healthy device's, so the ratio {:.3f} is "
      "unreliable",
      format_percent(*worst), which, c.ratio);
}

// "0.948 (0.946 to 0.950)"
std::string ratio_text(double ratio, double low, double high) {
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f})", ratio, low, high);
}

bool decided(Verdict verdict) {
  return verdict != Verdict::kNotJudged && verdict != Verdict::kInconclusive &&
         verdict != Verdict::kUneven;
}

// "28 of 59 points 0.500 times as fast in their median, from bytes:41943040 to ..."
std::string part_text(const CurveComparison& c) {
  const CurveComparison::Part& part = *c.slow_part;
  return fmt::format("{} of {} {:.3f} times as fast in their median, from {} to {}",
                     part.end - part.begin, format_count(std::ssize(c.points), "point"), part.ratio,
                     c.points[part.begin].name, c.points[part.end - 1].name);
}

std::string uneven_text(double runs_differ, double ratio) {
  return fmt::format(
      "runs differ by {} (standard deviation), more than healthy machines do; the "
      "ratio {:.3f} cannot be judged",
      format_percent(runs_differ), ratio);
}

// Returns whether anything was judged.
bool slower(const DeviceComparison& device, Reasons& out) {
  bool any = false;
  for (const CeilingComparison& c : device.ceilings) {
    any = any || decided(c.verdict);
    if (c.verdict == Verdict::kSlower)
      out.add(RuleKind::kSlower, FigureKey(c), ratio_text(c.ratio, c.ratio_low, c.ratio_high));
    else if (c.verdict == Verdict::kUnsteady)
      out.add(RuleKind::kUnsteady, FigureKey(c), unsteady_text(c));
    else if (c.verdict == Verdict::kUneven)
      out.add(RuleKind::kUneven, FigureKey(c), uneven_text(c.runs_differ, c.ratio));
  }
  for (const CurveComparison& c : device.curves) {
    any = any || decided(c.verdict);
    if (device.told_by_ceiling(c)) continue;
    if (c.verdict == Verdict::kSlower)
      out.add(RuleKind::kSlower, c.id,
              c.slow_part ? part_text(c) : ratio_text(c.median_ratio, c.ratio_low, c.ratio_high));
    else if (c.verdict == Verdict::kUneven)
      out.add(RuleKind::kUneven, c.id, uneven_text(c.runs_differ, c.median_ratio));
  }
  return any;
}

// Like check: most figures of each group must be the same, or differ by a known amount.
void judge_coverage(const DeviceComparison& device, Reasons& out) {
  struct Group {
    std::int64_t compared = 0, judged = 0;
  };
  std::map<RuleGroup, Group> groups;
  for (const CeilingComparison& c : device.ceilings) {
    const auto group = rule_group_of(c.resource);
    // GPUs and other guests share paths to the host: each GPU's own link is judged alone.
    const bool shared = group == RuleGroup::kHostLink && is_of_node(to_string(c));
    if (!group || shared || c.verdict == Verdict::kNotJudged) continue;
    ++groups[*group].compared;
    if (decided(c.verdict) || c.believed_low >= 1 - kWidestLimit) ++groups[*group].judged;
  }
  for (const auto& [group, n] : groups)
    if (2 * n.judged < n.compared)
      out.add(RuleKind::kNotJudged, fmt::format("coverage/{}", to_string(group)),
              fmt::format("{} of {} differ so much from run to run that a loss of {:.0f} % could "
                          "hide",
                          n.compared - n.judged, format_count(n.compared, "figure"),
                          kWidestLimit * 100));
}

// Results that are newly unverified fail by benchmark.
void not_verified(const DevicePair& pair, Reasons& out) {
  const auto off = [](const DeviceView& run) { return !run.profile->asked.verify; };
  const auto lacks = [](const DeviceView& run) {
    return std::ranges::any_of(
        *run.points, [](const MeasuredPoint& point) { return lacks_verification(*point.what); });
  };
  if (std::ranges::any_of(pair.next, off))
    out.add(RuleKind::kNotVerified, "verification", "results were not verified (--no-verify)");
  else if (std::ranges::any_of(pair.base, lacks) && std::ranges::any_of(pair.next, lacks))
    out.add(RuleKind::kNotVerified, "verification", "results were verified on neither side");
}

// Facts that the runs agree on.
CardFacts facts_of(const Runs& runs) {
  CardFacts facts = card_facts(runs[0]);
  for (const DeviceView& run : runs) complete(facts, card_facts(run));
  return facts;
}

void lesser_facts(const DevicePair& pair, const Restrictions& restrictions, Reasons& out) {
  const CardFacts usual = facts_of(pair.base);
  std::set<std::string> told;
  for (const DeviceView& run : pair.next) {
    std::vector<Judged> rules;
    RulesOf of_run(out.device, rules);
    CardFacts card = card_facts(run);
    // A link is read under load, and not in every restricted run.
    if (!restrictions.known(*run.profile)) complete(card, usual);
    // A GPU alone in its machine has no links that are up.
    if (run.profile->devices.size() < 2 && !card.nvlinks) card.nvlinks = usual.nvlinks;
    judge_facts(card, usual, "before", Usual::kEarlierRuns, of_run);
    for (Judged& rule : rules)
      if (!rule.passes() && told.insert(rule.name.other).second) out.all.push_back(std::move(rule));
  }
}

// The rules of check for a device by itself.
std::vector<Judged> checked_alone(const DeviceView& view, std::span<const Population> populations) {
  if (view.is_host()) return {};
  const std::vector<DeviceView> views = device_views(*view.profile);
  const DeviceView& node = *std::ranges::find_if(views, &DeviceView::is_node);
  return check_device(view, node, {.populations = populations, .donors = populations}).rules;
}

// Rates that are too high to believe would hide losses, or pass for gains.
void too_fast(const DevicePair& pair, std::span<const Population> populations, Reasons& out) {
  const auto too_fast_in = [&](const Runs& runs) {
    std::vector<Judged> found;
    for (const DeviceView& run : runs)
      for (Judged& rule : checked_alone(run, populations))
        if (rule.kind == RuleKind::kFigure && rule.outcome == Outcome::kCannotJudge &&
            std::ranges::find(found, rule.name.figure,
                              [](const Judged& r) { return r.name.figure; }) == found.end())
          found.push_back(std::move(rule));
    return found;
  };
  std::vector<Judged> after = too_fast_in(pair.next);
  if (after.empty()) return;
  const std::vector<Judged> before = too_fast_in(pair.base);
  for (Judged& rule : after)
    if (std::ranges::none_of(before,
                             [&](const Judged& r) { return r.name.figure == rule.name.figure; }))
      out.all.push_back(std::move(rule));
}

// Returns whether anything was judged.
bool add_pair(const DevicePair& pair, const DeviceComparison& device,
              const Restrictions& restrictions, std::span<const Population> populations,
              std::vector<Judged>& reasons) {
  Reasons out{device.key, reasons};
  new_errors(pair, out);
  const auto worst = std::ranges::find_if(pair.next, unusable);
  if (worst != pair.next.end() && std::ranges::none_of(pair.base, unusable)) {
    out.add(RuleKind::kDeviceUnusable, "", "cannot be measured: " + worst->facts->unusable);
    if (std::ranges::all_of(pair.next, unusable))
      return false;  // explains everything that is missing
  }
  if (!device.same_model && !device.shared_host()) {
    out.add(RuleKind::kDifferentModel, "model",
            fmt::format("{} → {}: only equal models can be judged", pair.base[0].model(),
                        other_model(pair)->model()));
    return false;
  }
  if (pair.base[0].facts != nullptr) lesser_facts(pair, restrictions, out);
  const bool any_judged = slower(device, out);
  too_fast(pair, populations, out);
  if (device.judged()) judge_coverage(device, out);
  not_verified(pair, out);
  const std::size_t before = reasons.size();
  const bool any_points = add_losses(pair, device, restrictions, out);
  if (!any_judged && device.judged() && any_points && reasons.size() == before)
    out.add(RuleKind::kNotJudged, "judged",
            "no figure of both sides can be told apart or called the same");
  return any_judged;
}

bool ended_early(const Profile* profile) {
  return !profile->complete &&
         std::ranges::none_of(device_views(*profile), [](const DeviceView& device) {
           return std::ranges::any_of(*device.points, [](const MeasuredPoint& point) {
             return point.what->status == Status::kError;
           });
         });
}

// Points that the new runs' mode omits are not missing; those that their filter omits are, unless
// all omitted points were filtered alike.
void add_filters(const MachineSides& sides, Reasons& machine) {
  std::set<std::string> modes, reported = {""};
  for (const Profile* profile : sides.next) modes.insert(profile->mode);
  std::set<std::string> left_out;  // filters of old runs in modes that the new side lacks
  for (const Profile* profile : sides.base)
    if (!modes.contains(profile->mode)) left_out.insert(profile->asked.filter);
  if (left_out.empty()) return;
  for (const Profile* profile : sides.next) {
    const std::string& filter = profile->asked.filter;
    if (left_out == std::set{filter} || !reported.insert(filter).second) continue;
    machine.add(RuleKind::kFiltered, "filter",
                fmt::format("a new run was restricted to '{}', and in another mode: what it lacks "
                            "cannot be told",
                            filter));
  }
}

void add_machine(const MachineSides& sides, std::vector<Judged>& reasons) {
  Reasons machine{"machine", reasons};
  new_machine_errors(sides, machine);
  if (!sides.base.empty() && std::ranges::all_of(sides.base, ended_early))
    RulesOf(machine.device, reasons)
        .add(RuleKind::kEndedEarly, "old_run", Outcome::kCannotJudge,
             "the old run ended before it had measured everything: what it lacks cannot be "
             "compared");
  else if (std::ranges::any_of(sides.next, ended_early))
    machine.add(RuleKind::kEndedEarly, "run", "a new run ended before it had measured everything");
  add_filters(sides, machine);
}

bool has(const std::vector<Judged>& rules, const RuleName& name) {
  return std::ranges::find(rules, name, &Judged::name) != rules.end();
}

// Without earlier runs, a GPU is judged as check judges it.
void judge_new_device(const DeviceView& run, std::span<const Population> populations,
                      std::vector<Judged>& reasons) {
  for (Judged& rule : checked_alone(run, populations))
    if (!rule.passes() && !has(reasons, rule.name)) reasons.push_back(std::move(rule));
}

// The new runs by themselves: who compares them should hear of heat, and of a card that was as slow
// before. A figure that is among the reasons is told there.
void add_warnings(const MachineSides& sides, std::span<const Population> populations, Gate& gate) {
  const auto told = [&](const RuleName& name) {
    return has(gate.warnings, name) || std::ranges::any_of(gate.reasons, [&](const Judged& r) {
             return r.name == name ||
                    (name.figure && r.name.device == name.device && r.name.figure == name.figure);
           });
  };
  for (const Profile* profile : sides.next)
    for (const DeviceView& view : device_views(*profile))
      for (Judged& rule : checked_alone(view, populations))
        if ((rule.outcome == Outcome::kWarn || rule.outcome == Outcome::kFail) && !told(rule.name))
          gate.warnings.push_back(std::move(rule));
}

}  // namespace

bool Gate::passed() const { return std::ranges::all_of(reasons, &Judged::passes); }

Outcome Gate::outcome() const {
  return !passed() ? verdict(reasons) : warnings.empty() ? Outcome::kPass : Outcome::kWarn;
}

Gate gate(const MachineSides& sides, std::span<const DeviceComparison> compared,
          std::span<const Population> populations) {
  Gate result;
  add_machine(sides, result.reasons);
  const Restrictions restrictions(sides.base);
  const auto alike = std::ranges::count_if(
      sides.next, [&](const Profile* profile) { return restrictions.known(*profile); });
  bool any_judged = false;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    const DevicePair& pair = sides.pairs[i];
    const auto found = std::ranges::count_if(
        pair.next, [&](const DeviceView& run) { return restrictions.known(*run.profile); });
    if (pair.base.size() == sides.base.size() && found < alike)
      Reasons{compared[i].key, result.reasons}.add(
          RuleKind::kMissing, "",
          fmt::format("{}: not in {} of {} new profiles", pair.base[0].model(), alike - found,
                      alike));
    any_judged |= add_pair(pair, compared[i], restrictions, populations, result.reasons);
  }
  for (const Runs& runs : sides.only_next)
    for (const DeviceView& run : runs) judge_new_device(run, populations, result.reasons);
  const auto is_gpu = [](const Runs& runs) { return runs[0].facts != nullptr; };
  const auto gpus_left = std::ranges::count_if(sides.pairs, is_gpu, &DevicePair::next) +
                         std::ranges::count_if(sides.only_next, is_gpu);
  for (const Runs& runs : sides.only_base)  // without two GPUs there are no links to measure
    if (!runs[0].is_node() || gpus_left > 1)
      Reasons{runs[0].key(), result.reasons}.add(RuleKind::kMissing, "",
                                                 runs[0].model() + ": not in the new profiles");
  const bool told = std::ranges::any_of(result.reasons, [](const Judged& reason) {
    return reason.kind == RuleKind::kNotJudged || reason.kind == RuleKind::kDifferentModel ||
           reason.kind == RuleKind::kDeviceUnusable;
  });
  // A machine that only one side has is told as its devices.
  if (!any_judged && !told && (!compared.empty() || sides.machine.empty()))
    Reasons{"machine", result.reasons}.add(RuleKind::kNotJudged, "judged",
                                           "nothing could be judged");
  add_warnings(sides, populations, result);
  return result;
}

}  // namespace peakline

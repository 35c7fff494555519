// What a gate does not let pass: what became slower, and whatever the old side has and the new one
// lacks or has as an error. The codes of the reasons, and what their names end in:
//   slower           a ceiling or the median of a curve, by its verdict
//   unsteady         a ceiling that is slower in one of several new runs, not in their mean, or
//                    that scatters within a run by more than a healthy device's, on either side
//   method_changed   a benchmark that the sides measured in different ways: it cannot be judged
//   missing          a device, ceiling or benchmark without a sound result on the new side, or in
//                    one of its runs where all old ones have it
//   clock_unknown    what would be missing as implausible, but for a clock above the stated maximum
//                    that the profile lacks: it cannot be judged
//   failed           a benchmark with errors or wrong results that no old run has
//   unverified       verification: sound results are no longer verified
//   device_unusable  the device cannot be measured
//   different_model  model: nothing can be judged
//   uneven           a ceiling that would be slower, but for runs that differ by more than is
//                    believed of any machine: it cannot be judged
//   not_judged       judged: nothing that both sides have can be told apart or called the same; of
//                    the machine: nothing
//   filtered         machine/filter: what a new run in another mode left out cannot be told
//   fact             less hardware than before: fewer SMs, less memory, a lower power limit, ...
//   ended_early      machine/run: a new run was interrupted
//   health           what check finds wrong with a GPU or the host (health/xid, ...), and no old
//   run has
//                    it; of the machine, the code of a finding of severity "error"
// What the mode of the new runs does not measure is not missing.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "harness/conclude/sm_clocks.hpp"
#include "harness/judge/health.hpp"
#include "harness/judge/population.hpp"
#include "harness/judge/sides.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Collects the reasons about one device.
struct Reasons {
  std::string device;  // "gpu0"
  std::vector<JudgedRule>& all;

  void add(std::string_view code, std::string_view name, std::string text) {
    static constexpr std::array<std::string_view, 6> kNotKnown = {
        "clock_unknown", "method_changed", "uneven", "not_judged", "different_model", "filtered"};
    const bool unknown = std::ranges::find(kNotKnown, code) != kNotKnown.end();
    RulesOf(device, all)
        .add(code, name, unknown ? Outcome::kCannotJudge : Outcome::kFail, std::move(text));
  }
};

// One point in all runs of a side.
struct SidePoint {
  std::string_view id;
  std::size_t sound = 0;                      // runs
  bool verified = false, unverified = false;  // in any run in which it is sound
  bool failed = false;                        // in any run: an error or a wrong result
  bool by_threads = false;                    // it is measured with a number of threads
  std::set<int> methods;                      // of the runs in which it is sound
  double rate = 0;                            // the highest sound one
  std::size_t unsound = 0;                    // runs that have it without a sound or wrong result
  std::vector<std::pair<const MeasuredPoint*, const DeviceFacts*>> flagged = {};  // implausible
  std::string why;  // it failed, or is not sound in the run seen last
};
using Points = std::map<std::string, SidePoint>;

Points points_of(const Runs& runs) {
  Points points;
  // Packed profiles share what was measured: its name is made once.
  std::unordered_map<const Measurement*, SidePoint*> places;
  for (const DeviceView& run : runs) {
    for (const MeasuredPoint& point : *run.points) {
      const Measurement* m = point.what;
      SidePoint*& place = places[m];
      if (place == nullptr) place = &points[m->name()];
      SidePoint& p = *place;
      p.id = m->id;
      p.by_threads = find_param(m->params, "threads") != nullptr;
      const bool wrong = m->status == Status::kOk && m->verified == false;
      if (m->status == Status::kError || wrong) {
        p.failed = true;
        p.why = wrong ? "wrong result" : m->reason;
      } else if (point.sound) {
        ++p.sound;
        p.rate = std::max(p.rate, point.value);
        p.methods.insert(m->method_version);
        (m->verified == true ? p.verified : p.unverified) = true;
      } else if (!p.failed) {
        ++p.unsound;
        if (m->flags.implausible && run.facts != nullptr) p.flagged.emplace_back(&point, run.facts);
        p.why = m->flags.implausible ? "above what the hardware can do" : m->reason;
      }
    }
  }
  return points;
}

constexpr const char* kClockMissing =
    "above what the hardware can do at the stated maximum SM clock; the clock it ran at is missing";

// Whether a clock explains each implausible rate, and nothing else is wrong with the point.
bool only_clock_missing(const SidePoint& point, double plausible_rate) {
  return !point.failed && point.unsound > 0 && point.flagged.size() == point.unsound &&
         std::ranges::all_of(point.flagged, [&](const auto& flagged) {
           return lacks_only_its_clock(*flagged.first, *flagged.second, plausible_rate);
         });
}

std::string with_reason(const std::string& text, const std::string& why) {
  return why.empty() ? text : text + ": " + why;
}

// Points of one benchmark, and why the first of them is among them.
struct Lost {
  std::int64_t points = 0;
  std::string why;

  void add(const std::string& reason) {
    if (points++ == 0) why = reason;
  }
  std::string text() const { return with_reason(format_count(points, "point"), why); }
};

std::set<std::optional<int>> threads_of(const Runs& runs) {
  std::set<std::optional<int>> threads;
  for (const DeviceView& run : runs) threads.insert(run.profile->host.usable_threads);
  return threads;
}

// The points that a host with other threads has instead: its sweeps end at another number of them.
bool has_others(const Points& points, std::string_view id) {
  return std::ranges::any_of(points, [&](const auto& point) {
    return point.second.id == id && point.second.sound > 0 && point.second.by_threads;
  });
}

// The filter and the devices that a run was restricted to; empty: all.
using Restriction = std::pair<std::string, std::string>;
Restriction restriction_of(const Profile& profile) {
  return {option_of(profile, "--filter"), devices_asked_for(profile)};
}

// What a new run should have is known where it was asked to measure everything, or what an old one
// was asked to.
class Restrictions {
 public:
  explicit Restrictions(std::span<const Profile> base) {
    for (const Profile& profile : base) known_.insert(restriction_of(profile));
  }
  bool known(const Profile& profile) const {
    const Restriction restriction = restriction_of(profile);
    return restriction.first != kLeftOut && known_.contains(restriction);
  }

 private:
  std::set<Restriction> known_ = {{"", ""}};
};

bool unusable(const DeviceView& run) {
  return run.facts != nullptr && !run.facts->unusable.empty();
}

// What is to be found on the new side.
struct Expected {
  bool all_tried;      // the new runs measure whatever the old ones did
  bool other_threads;  // than the old ones had
  std::size_t base_runs;
  Runs alike;  // new runs of which each should have what every old one has

  // Whether some of the new runs lack what every old one has.
  bool lost_in_some(std::size_t in_base, std::size_t in_alike) const {
    return in_base == base_runs && in_alike > 0 && in_alike < alike.size();
  }
  // "not in 1 of 3 new profiles"
  std::string share(std::size_t in_alike) const {
    return fmt::format("not in {} of {} new profiles", alike.size() - in_alike, alike.size());
  }
};

Expected expected_of(const DevicePair& pair, const DeviceComparison& device,
                     const Restrictions& restrictions) {
  Expected expected{
      .all_tried = !device.untried,
      .other_threads = device.is_host && threads_of(pair.base) != threads_of(pair.next),
      .base_runs = pair.base.size(),
      .alike = {}};
  std::set<std::string_view> modes;
  for (const DeviceView& run : pair.next) {
    if (unusable(run) || !restrictions.known(*run.profile)) continue;
    expected.alike.push_back(run);
    modes.insert(run.profile->mode);
  }
  // What one quick run measures, all do, but not what a full one does.
  if (modes.size() > 1 && device.different_modes) expected.alike.clear();
  return expected;
}

void lost_benchmarks(const Points& base, const Points& next, const Expected& expected,
                     Reasons& out) {
  std::map<std::string_view, Lost> failed, missing, unclocked, changed;
  std::int64_t unverified = 0;
  const Points alike = points_of(expected.alike);
  const auto lost_in_some = [&](const std::string& name, const SidePoint& before) {
    const auto found = alike.find(name);
    return found != alike.end() && expected.lost_in_some(before.sound, found->second.sound);
  };
  for (const auto& [name, before] : base) {
    if (before.sound == 0) continue;
    const bool replaced =
        expected.other_threads && before.by_threads && has_others(next, before.id);
    const auto found = next.find(name);
    if (found == next.end()) {
      if (expected.all_tried && !replaced) missing[before.id].add("");
      continue;
    }
    const SidePoint& after = found->second;
    const bool no_clock = only_clock_missing(after, before.rate);
    auto& lost = no_clock ? unclocked : missing;
    const std::string why = no_clock ? kClockMissing : after.why;
    if (after.failed && !before.failed) {
      failed[before.id].add(after.why);
    } else if (after.sound == 0) {
      lost[before.id].add(why);
    } else if (!replaced && lost_in_some(name, before)) {
      lost[before.id].add(with_reason(expected.share(alike.at(name).sound), why));
    } else if (before.verified && after.unverified && !(before.unverified && after.verified)) {
      ++unverified;
    }
    if (after.sound > 0 && before.methods != after.methods) {
      changed[before.id].add(fmt::format("method {} instead of {}: cannot be judged",
                                         fmt::join(after.methods, ", "),
                                         fmt::join(before.methods, ", ")));
    }
  }
  for (const auto& [id, lost] : failed) out.add("failed", id, lost.text());
  for (const auto& [id, lost] : missing) out.add("missing", id, lost.text());
  for (const auto& [id, lost] : unclocked) out.add("clock_unknown", id, lost.text());
  for (const auto& [id, points] : changed) out.add("method_changed", id, points.text());
  if (unverified > 0) {
    out.add("unverified", "verification", format_count(unverified, "result"));
  }
}

// Counts the runs that have each measured ceiling.
std::map<std::string, std::size_t> runs_by_ceiling(const Runs& runs) {
  std::map<std::string, std::size_t> counts;
  for (const DeviceView& run : runs) {
    std::set<std::string> names;
    for (const Ceiling* row : run.ceilings)
      if (!row->measurement.empty() && row->value > 0)
        names.insert(ceiling_name(row->resource, row->basis));
    for (const std::string& name : names) ++counts[name];
  }
  return counts;
}

void lost_ceilings(const DevicePair& pair, const Points& next_points, const Expected& expected,
                   Reasons& out) {
  std::map<std::string, std::string> why;  // a new run has no such ceiling, though it tried
  for (const DeviceView& run : pair.next)
    for (const MissingCeiling* row : run.missing_ceilings)
      why.try_emplace(ceiling_name(row->resource, row->basis), row->reason);
  auto in_base = runs_by_ceiling(pair.base), in_next = runs_by_ceiling(pair.next),
       in_alike = runs_by_ceiling(expected.alike);
  for (const DeviceView& run : pair.base) {
    for (const Ceiling* row : run.ceilings) {
      if (row->measurement.empty() || row->value <= 0) continue;
      // Each is reported once, by whichever old run has it first.
      const std::string name = ceiling_name(row->resource, row->basis);
      const std::size_t before = std::exchange(in_base[name], 0);
      if (before == 0) continue;
      const auto reason = why.find(name);
      const auto point = next_points.find(row->measurement);
      const bool tried = expected.all_tried || reason != why.end() || point != next_points.end();
      const bool unclocked =
          point != next_points.end() && only_clock_missing(point->second, row->value);
      const std::string known = unclocked             ? kClockMissing
                                : reason != why.end() ? reason->second
                                                      : "";
      const char* const code = unclocked ? "clock_unknown" : "missing";
      if (in_next[name] == 0 && tried)
        out.add(code, name, known.empty() ? "not in the new profiles" : known);
      else if (expected.lost_in_some(before, in_alike[name]))
        out.add(code, name, with_reason(expected.share(in_alike[name]), known));
    }
  }
}

// Failures and wrong results are told by benchmark, and a device that cannot be measured as such.
bool told_elsewhere(std::string_view code) {
  static constexpr std::array<std::string_view, 3> kCodes = {"failed", "unverified",
                                                             "device_unusable"};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

// What is wrong with a device in any of the runs, by the rule's name.
std::map<std::string, JudgedRule> errors_of(const Runs& runs, const std::string& device) {
  std::vector<JudgedRule> all;
  RulesOf rules(device, all);
  for (const DeviceView& run : runs) {
    if (run.facts != nullptr)
      judge_health(run, rules);
    else
      judge_findings(run, rules);
  }
  std::map<std::string, JudgedRule> errors;
  for (JudgedRule& rule : all)
    if (rule.outcome == Outcome::kFail &&
        !told_elsewhere(std::string_view(rule.name).substr(rule.name.rfind('/') + 1)))
      errors.try_emplace(rule.name, std::move(rule));
  return errors;
}

void new_errors(const DevicePair& pair, const Reasons& out) {
  const auto before = errors_of(pair.base, out.device);
  for (auto& [name, rule] : errors_of(pair.next, out.device))
    if (!before.contains(name)) out.all.push_back(rule);
}

// Findings of severity "error" that are of no device, and of no old run.
void new_machine_errors(std::span<const Profile> base, std::span<const Profile> next,
                        Reasons& machine) {
  const auto errors = [](std::span<const Profile> profiles) {
    std::map<std::string_view, std::string_view> all;
    for (const Profile& profile : profiles)
      for (const Finding& finding : profile.findings)
        if (finding.device.empty() && finding.severity == Severity::kError &&
            !told_elsewhere(finding.code))
          all.try_emplace(finding.code, finding.message);
    return all;
  };
  const auto before = errors(base);
  for (const auto& [code, message] : errors(next))
    if (!before.contains(code)) machine.add(code, code, std::string(message));
}

// Why a figure is unsteady: "scatters by 23 % within a run, ...".
std::string unsteady_text(const CeilingComparison& c) {
  const auto &before = c.base.excessive_scatter, &after = c.next.excessive_scatter;
  const auto worst = std::max(before, after);
  if (!worst)
    return fmt::format("slower in {} of {} new runs, down to {:.3f} times as fast", c.slow_runs,
                       c.next.runs, c.slowest_run);
  const char* const which = before && after ? "a" : before ? "an old" : "a new";
  return fmt::format(
      "scatters by {} within {} run, far more than a healthy device's: {:.3f} times as fast says "
      "little",
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

// Whether anything was judged.
bool slower(const DeviceComparison& device, Reasons& out) {
  bool any = false;
  for (const CeilingComparison& c : device.ceilings) {
    any = any || decided(c.verdict);
    const std::string name = ceiling_name(c.resource, c.basis);
    if (c.verdict == Verdict::kSlower)
      out.add("slower", name, ratio_text(c.ratio, c.ratio_low, c.ratio_high));
    else if (c.verdict == Verdict::kUnsteady)
      out.add("unsteady", name, unsteady_text(c));
    else if (c.verdict == Verdict::kUneven)
      out.add("uneven", name,
              fmt::format("runs here differ by {} (one standard deviation), more than is believed "
                          "of a healthy machine: {:.3f} times as fast cannot be judged",
                          format_percent(c.runs_differ), c.ratio));
  }
  for (const CurveComparison& c : device.curves) {
    any = any || decided(c.verdict);
    if (c.verdict == Verdict::kSlower)
      out.add("slower", c.id, ratio_text(c.median_ratio, c.ratio_low, c.ratio_high));
  }
  return any;
}

// What all runs know of the card.
CardFacts facts_of(const Runs& runs) {
  CardFacts facts = card_facts(runs[0]);
  for (const DeviceView& run : runs) complete(facts, card_facts(run));
  return facts;
}

void lesser_facts(const DevicePair& pair, Reasons& out) {
  const CardFacts usual = facts_of(pair.base);
  std::set<std::string> told;
  for (const DeviceView& run : pair.next) {
    std::vector<JudgedRule> rules;
    RulesOf of_run(out.device, rules);
    judge_facts(card_facts(run), usual, "before", false, of_run);
    for (JudgedRule& rule : rules)
      if (!rule.passes() && told.insert(rule.name).second) out.all.push_back(std::move(rule));
  }
}

// Returns whether anything was judged.
bool add_pair(const DevicePair& pair, const DeviceComparison& device,
              const Restrictions& restrictions, std::vector<JudgedRule>& reasons) {
  Reasons out{device_key(pair.base[0]), reasons};
  new_errors(pair, out);
  const auto worst = std::ranges::find_if(pair.next, unusable);
  if (worst != pair.next.end() && std::ranges::none_of(pair.base, unusable)) {
    out.add("device_unusable", "", "cannot be measured: " + worst->facts->unusable);
    if (std::ranges::all_of(pair.next, unusable)) return false;  // what it lacks follows from that
  }
  if (!device.same_model && !device.shared_host()) {
    out.add("different_model", "model",
            fmt::format("{} → {}: only equal models can be judged", model_of(pair.base[0]),
                        model_of(pair.next[0])));
    return false;
  }
  if (pair.base[0].facts != nullptr) lesser_facts(pair, out);
  const bool any_judged = slower(device, out);
  const Points base = points_of(pair.base), next = points_of(pair.next);
  const std::size_t before = reasons.size();
  const Expected expected = expected_of(pair, device, restrictions);
  lost_ceilings(pair, next, expected, out);
  lost_benchmarks(base, next, expected, out);
  if (!any_judged && device.judged() && !base.empty() && reasons.size() == before)
    out.add("not_judged", "judged", "no figure of both sides can be told apart or called the same");
  return any_judged;
}

bool ended_early(const Profile& profile) {
  return !profile.complete &&
         std::ranges::none_of(device_views(profile), [](const DeviceView& device) {
           return std::ranges::any_of(*device.points, [](const MeasuredPoint& point) {
             return point.what->status == Status::kError;
           });
         });
}

// What the mode of the new runs leaves out is not missing, but what their filter does is, unless
// all that is left out was filtered alike.
void add_filters(std::span<const Profile> base, std::span<const Profile> next, Reasons& machine) {
  std::set<std::string> modes, reported = {""};
  for (const Profile& profile : next) modes.insert(profile.mode);
  std::set<std::string> left_out;  // filters of the old runs in modes that the new side lacks
  for (const Profile& profile : base)
    if (!modes.contains(profile.mode)) left_out.insert(option_of(profile, "--filter"));
  if (left_out.empty()) return;
  for (const Profile& profile : next) {
    const std::string filter = option_of(profile, "--filter");
    if (left_out == std::set{filter} || !reported.insert(filter).second) continue;
    machine.add("filtered", "filter",
                fmt::format("a new run was restricted to '{}', and in another mode: what it lacks "
                            "cannot be told",
                            filter));
  }
}

void add_machine(std::span<const Profile> base, std::span<const Profile> next,
                 std::vector<JudgedRule>& reasons) {
  Reasons machine{"machine", reasons};
  new_machine_errors(base, next, machine);
  if (std::ranges::any_of(next, ended_early) && std::ranges::none_of(base, ended_early))
    machine.add("ended_early", "run", "a new run ended before it had measured everything");
  add_filters(base, next, machine);
}

}  // namespace

bool Gate::passed() const { return std::ranges::all_of(reasons, &JudgedRule::passes); }

Gate gate(std::span<const Profile> base, std::span<const Profile> next,
          const PairedDevices& devices, std::span<const DeviceComparison> compared,
          std::span<const std::string> allowed) {
  Gate result;
  add_machine(base, next, result.reasons);
  const Restrictions restrictions(base);
  const auto alike = std::ranges::count_if(
      next, [&](const Profile& profile) { return restrictions.known(profile); });
  bool any_judged = false;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    const DevicePair& pair = devices.pairs[i];
    const auto found = std::ranges::count_if(
        pair.next, [&](const DeviceView& run) { return restrictions.known(*run.profile); });
    if (pair.base.size() == base.size() && found < alike)
      Reasons{device_key(pair.base[0]), result.reasons}.add(
          "missing", "",
          fmt::format("{}: not in {} of {} new profiles", model_of(pair.base[0]), alike - found,
                      alike));
    any_judged |= add_pair(pair, compared[i], restrictions, result.reasons);
  }
  for (const Runs& runs : devices.only_base)
    Reasons{device_key(runs[0]), result.reasons}.add(
        "missing", "", model_of(runs[0]) + ": not in the new profiles");
  const bool told = std::ranges::any_of(result.reasons, [](const JudgedRule& reason) {
    return reason.code == "not_judged" || reason.code == "different_model" ||
           reason.code == "device_unusable";
  });
  if (!any_judged && !told)
    Reasons{"machine", result.reasons}.add("not_judged", "judged", "nothing could be judged");
  Allowed excused(allowed);
  excused.excuse(result.reasons);
  result.unused = excused.unused();
  return result;
}

}  // namespace peakline

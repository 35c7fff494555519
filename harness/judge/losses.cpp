#include "harness/judge/losses.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <unordered_map>

#include "harness/conclude/sm_clocks.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

struct SidePoint {
  std::string_view id;
  std::size_t sound = 0;                      // runs
  bool verified = false, unverified = false;  // in any run in which it is sound
  bool failed = false;                        // an error or a wrong result in any run
  bool by_threads = false;                    // parameter: a number of threads
  std::set<int> methods;                      // of sound runs
  double rate = 0;                            // highest sound one
  std::size_t unsound = 0;                    // runs without a sound or wrong result
  std::size_t skipped = 0;                    // of these, where the program skipped it
  std::vector<std::pair<const MeasuredPoint*, const DeviceFacts*>> flagged = {};  // implausible
  std::string why;  // reason of the last run in which it failed or was not sound
};
using Points = std::map<std::string, SidePoint>;

Points points_of(const Runs& runs) {
  Points points;
  // Packed profiles share measurements, so make their names once.
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
        p.skipped += m->status == Status::kSkipped ? 1 : 0;
        if (m->flags.implausible && run.facts != nullptr) p.flagged.emplace_back(&point, run.facts);
        p.why = m->flags.implausible ? "above what the hardware can do" : m->reason;
      }
    }
  }
  return points;
}

constexpr const char* kClockMissing =
    "above what the hardware can do at the stated maximum SM clock; the clock it ran at is missing";

// Whether a missing clock could explain all implausible rates, and nothing else is wrong.
bool only_clock_missing(const SidePoint& point, double plausible_rate) {
  return !point.failed && point.unsound > 0 && point.flagged.size() == point.unsound &&
         std::ranges::all_of(point.flagged, [&](const auto& flagged) {
           return lacks_only_its_clock(*flagged.first, *flagged.second, plausible_rate);
         });
}

// Skipped copies between GPUs are those that a GPU refuses.
bool may_be_skipped(std::string_view id) {
  const std::string_view part = part_of(id);
  return part != "p2p" && part != "nvlink";
}

std::string with_reason(const std::string& text, const std::string& why) {
  return why.empty() ? text : text + ": " + why;
}

// Points of one benchmark, and the reason of the first.
struct Lost {
  std::int64_t points = 0;
  std::string why;

  void add(const std::string& reason) {
    if (points++ == 0) why = reason;
  }
  // "2 points missing", "1 point failed: timeout"
  std::string text(std::string_view how) const {
    return with_reason(fmt::format("{} {}", format_count(points, "point"), how), why);
  }
};

std::set<std::string_view> versions_of(const Runs& runs) {
  std::set<std::string_view> versions;
  for (const DeviceView& run : runs) versions.insert(run.profile->software.git_revision);
  return versions;
}

std::set<std::optional<int>> threads_of(const Runs& runs) {
  std::set<std::optional<int>> threads;
  for (const DeviceView& run : runs) threads.insert(run.profile->host.usable_threads);
  return threads;
}

// Whether a host with another number of threads has other points instead.
bool has_others(const Points& points, std::string_view id) {
  return std::ranges::any_of(points, [&](const auto& point) {
    return point.second.id == id && point.second.sound > 0 && point.second.by_threads;
  });
}

struct Expected {
  bool all_tried;                         // new runs measure all that old ones did
  bool other_threads;                     // than the old runs
  bool other_version;                     // the program may lack points or whole benchmarks
  std::set<std::string_view> tried = {};  // the new runs' benchmarks
  std::size_t base_runs;
  Runs alike;  // new runs that should each have what all old ones have
  // Points that other GPUs of the new runs have, if this one is in another place now: a run takes
  // some only on the first GPU of each side of the host.
  std::set<std::string> of_others = {};
  bool chosen = false;  // the other GPUs are left out

  bool taken_elsewhere(const std::string& point) const {
    return chosen || of_others.contains(point);
  }
  // The new side's program may lack the benchmark.
  bool may_not_exist(std::string_view id) const { return other_version && !tried.contains(id); }
  // Some new runs lack what all old ones have.
  bool lost_in_some(std::size_t in_base, std::size_t in_alike) const {
    return in_base == base_runs && in_alike > 0 && in_alike < alike.size();
  }
  // "not in 1 of 3 new profiles"
  std::string share(std::size_t in_alike) const {
    return fmt::format("not in {} of {} new profiles", alike.size() - in_alike, alike.size());
  }
};

bool in_another_place(const DevicePair& pair) {
  const auto index_of = [](const DeviceView& run) {
    return run.facts == nullptr ? std::nullopt : std::optional(run.facts->index);
  };
  const auto first = index_of(pair.base[0]);
  const auto differs = [&](const DeviceView& run) { return index_of(run) != first; };
  return std::ranges::any_of(pair.base, differs) || std::ranges::any_of(pair.next, differs);
}

std::set<std::string> points_of_other_gpus(const Runs& runs) {
  std::set<std::string> names;
  for (const DeviceView& run : runs)
    for (const DeviceView& other : device_views(*run.profile))
      if (other.facts != nullptr && other.facts != run.facts)
        for (const MeasuredPoint& point : *other.points) names.insert(point.what->name());
  return names;
}

Expected expected_of(const DevicePair& pair, const Points& next, const DeviceComparison& device,
                     const Restrictions& restrictions) {
  Expected expected{
      .all_tried = !device.untried,
      .other_threads = device.is_host && threads_of(pair.base) != threads_of(pair.next),
      .other_version = versions_of(pair.base) != versions_of(pair.next),
      .base_runs = pair.base.size(),
      .alike = {}};
  if (in_another_place(pair)) {
    expected.of_others = points_of_other_gpus(pair.next);
    expected.chosen = device.chosen;
  }
  for (const auto& [name, point] : next) expected.tried.insert(point.id);
  std::set<std::string_view> modes;
  for (const DeviceView& run : pair.next) {
    if (unusable(run) || !restrictions.known(*run.profile)) continue;
    expected.alike.push_back(run);
    modes.insert(run.profile->mode);
  }
  // Quick runs all measure the same, but less than full ones.
  if (modes.size() > 1 && device.different_modes) expected.alike.clear();
  return expected;
}

void lost_benchmarks(const Points& base, const Points& next, const Expected& expected,
                     Reasons& out) {
  std::map<std::string_view, Lost> failed, missing, skipped, unclocked, changed;
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
      // A run has a record of each point that its program knows, so another version may have fewer.
      if (expected.all_tried && !replaced && !expected.other_version &&
          !expected.taken_elsewhere(name))
        missing[before.id].add("");
      continue;
    }
    const SidePoint& after = found->second;
    const bool no_clock = only_clock_missing(after, before.rate);
    const bool not_measured =
        after.skipped > 0 && after.skipped == after.unsound && may_be_skipped(before.id);
    auto& lost = no_clock ? unclocked : not_measured ? skipped : missing;
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
      changed[before.id].add(fmt::format("method {} instead of {}", fmt::join(after.methods, ", "),
                                         fmt::join(before.methods, ", ")));
    }
  }
  const auto add = [&](RuleKind kind, const std::map<std::string_view, Lost>& all,
                       std::string_view how) {
    for (const auto& [id, lost] : all) out.add(kind, std::string(id), lost.text(how));
  };
  add(RuleKind::kFailed, failed, "failed");
  add(RuleKind::kMissing, missing, "missing");
  add(RuleKind::kNotMeasured, skipped, "not measured");
  add(RuleKind::kClockUnknown, unclocked, "cannot be judged");
  add(RuleKind::kMethodChanged, changed, "cannot be judged");
  if (unverified > 0)
    out.add(RuleKind::kUnverified, "verification",
            fmt::format("{} {} no longer verified", format_count(unverified, "result"),
                        unverified == 1 ? "is" : "are"));
}

std::map<FigureKey, std::size_t> runs_by_ceiling(const Runs& runs) {
  std::map<FigureKey, std::size_t> counts;
  for (const DeviceView& run : runs) {
    std::set<FigureKey> keys;
    for (const Ceiling* row : run.ceilings)
      if (!row->measurement.empty() && row->value > 0) keys.insert({row->resource, row->basis});
    for (const FigureKey& key : keys) ++counts[key];
  }
  return counts;
}

void lost_ceilings(const DevicePair& pair, const Points& next_points, const Expected& expected,
                   Reasons& out) {
  std::map<FigureKey, const MissingCeiling*> why;  // ceilings that a new run tried but lacks
  for (const DeviceView& run : pair.next)
    for (const MissingCeiling* row : run.missing_ceilings)
      why.try_emplace({row->resource, row->basis}, row);
  auto in_base = runs_by_ceiling(pair.base), in_next = runs_by_ceiling(pair.next),
       in_alike = runs_by_ceiling(expected.alike);
  for (const DeviceView& run : pair.base) {
    for (const Ceiling* row : run.ceilings) {
      if (row->measurement.empty() || row->value <= 0) continue;
      // Reported once, from the first old run that has it.
      const FigureKey key{row->resource, row->basis};
      const std::size_t before = std::exchange(in_base[key], 0);
      if (before == 0) continue;
      const auto reason = why.find(key);
      const auto point = next_points.find(row->measurement);
      const std::string_view id =
          std::string_view(row->measurement).substr(0, row->measurement.find('/'));
      const bool tried = (expected.all_tried && !expected.may_not_exist(id)) ||
                         reason != why.end() || point != next_points.end();
      const bool unclocked =
          point != next_points.end() && only_clock_missing(point->second, row->value);
      const std::string known = unclocked             ? kClockMissing
                                : reason != why.end() ? reason->second->reason
                                                      : "";
      const bool skipped = reason != why.end() && reason->second->why == Absence::kSkipped &&
                           may_be_skipped(row->resource);
      const RuleKind kind = unclocked ? RuleKind::kClockUnknown
                            : skipped ? RuleKind::kNotMeasured
                                      : RuleKind::kMissing;
      if (in_next[key] == 0 && tried)
        out.add(kind, key, known.empty() ? "not in the new profiles" : known);
      else if (expected.lost_in_some(before, in_alike[key]))
        out.add(kind, key, with_reason(expected.share(in_alike[key]), known));
    }
  }
}

}  // namespace

bool add_losses(const DevicePair& pair, const DeviceComparison& device,
                const Restrictions& restrictions, Reasons& out) {
  const Points base = points_of(pair.base), next = points_of(pair.next);
  const Expected expected = expected_of(pair, next, device, restrictions);
  lost_ceilings(pair, next, expected, out);
  lost_benchmarks(base, next, expected, out);
  return !base.empty();
}

}  // namespace peakline

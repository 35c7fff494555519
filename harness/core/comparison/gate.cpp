// What a gate does not let pass: what became slower, and whatever the old side has and the new one
// lacks or has as an error. The codes of the reasons, and what their names end in:
//   slower           a ceiling or the median of a curve, by its verdict
//   missing          a device, ceiling or benchmark without a sound result on the new side
//   failed           a benchmark with errors or wrong results that no old run has
//   unverified       verification: sound results are no longer verified
//   device_unusable  the device cannot be measured
//   different_model  model: nothing can be judged
//   not_judged       judged: nothing that both sides have can be judged
//   ended_early      run: a new run was interrupted
//   xid, ...         the code of a finding of severity "error" that no old run has
// What the mode of the new runs does not measure is not missing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/core/ceilings.hpp"
#include "harness/core/comparison/sides.hpp"
#include "harness/core/units.hpp"

namespace peakline {
namespace {

std::string gate_name(const Runs& runs) {
  const DeviceFacts* gpu = runs[0].facts;
  return gpu != nullptr ? fmt::format("gpu{}", gpu->index) : std::string(runs[0].name());
}

// Collects the reasons about one device.
struct Reasons {
  std::string device;  // "gpu0"
  std::vector<GateReason>& all;

  void add(std::string_view code, std::string_view name, std::string text) {
    all.push_back({.code = std::string(code),
                   .name = name.empty() ? device : fmt::format("{}/{}", device, name),
                   .text = std::move(text)});
  }
};

// One point in all runs of a side.
struct Point {
  std::string_view id;
  bool sound = false, verified = false;  // in any run
  bool failed = false;                   // in any run: an error or a wrong result
  bool by_threads = false;               // it is measured with a number of threads
  std::string why;                       // it failed, or is not sound in the run seen last
};
using Points = std::map<std::string, Point>;

Points points_of(const Runs& runs) {
  Points points;
  for (const DeviceView& run : runs) {
    for (const Measurement* m : run.measurements) {
      Point& p = points[m->name()];
      p.id = m->id;
      p.by_threads = find_param(m->params, "threads") != nullptr;
      const bool wrong = m->status == Status::kOk && m->verified == false;
      if (m->status == Status::kError || wrong) {
        p.failed = true;
        p.why = wrong ? "wrong result" : m->reason;
      } else if (sound(*m)) {
        p.sound = true;
        p.verified = p.verified || m->verified == true;
      } else if (!p.failed) {
        p.why = m->flags.implausible ? "above what the hardware can do" : m->reason;
      }
    }
  }
  return points;
}

// Points of one benchmark, and why the first of them is among them.
struct Lost {
  std::int64_t points = 0;
  std::string why;

  void add(const std::string& reason) {
    if (points++ == 0) why = reason;
  }
  std::string text() const {
    return format_count(points, "point") + (why.empty() ? "" : ": " + why);
  }
};

std::set<std::optional<int>> threads_of(const Runs& runs) {
  std::set<std::optional<int>> threads;
  for (const DeviceView& run : runs) threads.insert(run.profile->host.usable_threads);
  return threads;
}

// The points that a host with other threads has instead: its sweeps end at another number of them.
bool has_others(const Points& points, std::string_view id) {
  return std::ranges::any_of(points, [&](const auto& point) {
    return point.second.id == id && point.second.sound && point.second.by_threads;
  });
}

// all_tried: the new runs measure whatever the old ones did. other_threads: than the old ones had.
void lost_benchmarks(const Points& base, const Points& next, bool all_tried, bool other_threads,
                     Reasons& out) {
  std::map<std::string_view, Lost> failed, missing;
  std::int64_t unverified = 0;
  for (const auto& [name, before] : base) {
    if (!before.sound) continue;
    const auto found = next.find(name);
    if (found == next.end()) {
      const bool replaced = other_threads && before.by_threads && has_others(next, before.id);
      if (all_tried && !replaced) missing[before.id].add("");
      continue;
    }
    const Point& after = found->second;
    if (after.failed && !before.failed) {
      failed[before.id].add(after.why);
    } else if (!after.sound) {
      missing[before.id].add(after.why);
    } else if (before.verified && !after.verified) {
      ++unverified;
    }
  }
  for (const auto& [id, lost] : failed) out.add("failed", id, lost.text());
  for (const auto& [id, lost] : missing) out.add("missing", id, lost.text());
  if (unverified > 0) {
    out.add("unverified", "verification", format_count(unverified, "result"));
  }
}

void lost_ceilings(const DevicePair& pair, const Points& next_points, bool all_tried,
                   Reasons& out) {
  std::map<std::string, std::string> why;  // the new side has no such ceiling, though it tried
  std::set<std::string> found;
  for (const DeviceView& run : pair.next) {
    for (const MissingCeiling* row : run.missing_ceilings)
      why.try_emplace(ceiling_name(row->resource, row->basis), row->reason);
    for (const Ceiling* row : run.ceilings)
      if (row->value > 0) found.insert(ceiling_name(row->resource, row->basis));
  }
  for (const DeviceView& run : pair.base) {
    for (const Ceiling* row : run.ceilings) {
      if (row->measurement.empty() || row->value <= 0) continue;
      // Each is reported once, by whichever old run has it first.
      const std::string name = ceiling_name(row->resource, row->basis);
      const auto reason = why.find(name);
      const bool tried = all_tried || reason != why.end() || next_points.contains(row->measurement);
      if (!tried || !found.insert(name).second) continue;
      out.add("missing", name, reason != why.end() ? reason->second : "not in the new profiles");
    }
  }
}

// What findings of severity "error" say, by code. Failures are told by benchmark.
using Errors = std::map<std::string_view, std::string_view>;

void add_error(const Finding& finding, Errors& errors) {
  static constexpr std::array<std::string_view, 3> kToldElsewhere = {"failed", "unverified",
                                                                     "device_unusable"};
  if (finding.severity == Severity::kError &&
      std::ranges::find(kToldElsewhere, finding.code) == kToldElsewhere.end())
    errors.try_emplace(finding.code, finding.message);
}

Errors device_errors(const Runs& runs) {
  Errors errors;
  for (const DeviceView& run : runs)
    for (const Finding* finding : run.findings) add_error(*finding, errors);
  return errors;
}

Errors machine_errors(std::span<const Profile> profiles) {
  Errors errors;
  for (const Profile& profile : profiles)
    for (const Finding& finding : profile.findings)
      if (finding.device.empty()) add_error(finding, errors);
  return errors;
}

void new_errors(const Errors& base, const Errors& next, Reasons& out) {
  for (const auto& [code, message] : next)
    if (!base.contains(code)) out.add(code, code, std::string(message));
}

// "0.948 (0.946 to 0.950)"
std::string ratio_text(double ratio, double low, double high) {
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f})", ratio, low, high);
}

// Whether anything was judged.
bool slower(const DeviceComparison& device, Reasons& out) {
  bool any = false;
  for (const CeilingComparison& c : device.ceilings) {
    any = any || c.verdict != Verdict::kNotJudged;
    if (c.verdict == Verdict::kSlower)
      out.add("slower", ceiling_name(c.resource, c.basis),
              ratio_text(c.ratio, c.ratio_low, c.ratio_high));
  }
  for (const CurveComparison& c : device.curves) {
    any = any || c.verdict != Verdict::kNotJudged;
    if (c.verdict == Verdict::kSlower)
      out.add("slower", c.id, ratio_text(c.median_ratio, c.ratio_low, c.ratio_high));
  }
  return any;
}

void add_pair(const DevicePair& pair, const DeviceComparison& device,
              std::vector<GateReason>& reasons) {
  Reasons out{gate_name(pair.base), reasons};
  new_errors(device_errors(pair.base), device_errors(pair.next), out);
  const auto unusable = [](const DeviceView& run) {
    return run.facts != nullptr && !run.facts->unusable.empty();
  };
  const auto worst = std::ranges::find_if(pair.next, unusable);
  if (worst != pair.next.end() && std::ranges::none_of(pair.base, unusable)) {
    out.add("device_unusable", "", "cannot be measured: " + worst->facts->unusable);
    if (std::ranges::all_of(pair.next, unusable)) return;  // what it lacks follows from that
  }
  if (!device.same_model && !device.shared_host()) {
    out.add("different_model", "model",
            fmt::format("{} → {}: only equal models can be judged", model_of(pair.base[0]),
                        model_of(pair.next[0])));
    return;
  }
  const bool any_judged = slower(device, out);
  const Points base = points_of(pair.base), next = points_of(pair.next);
  const std::size_t before = reasons.size();
  lost_ceilings(pair, next, !device.untried, out);
  lost_benchmarks(base, next, !device.untried,
                  device.is_host && threads_of(pair.base) != threads_of(pair.next), out);
  if (!any_judged && device.judged() && !base.empty() && reasons.size() == before)
    out.add("not_judged", "judged", "the sides have nothing in common that can be judged");
}

bool ended_early(const Profile& profile) {
  return !profile.complete &&
         std::ranges::count(profile.measurements, Status::kError, &Measurement::status) == 0;
}

void add_machine(std::span<const Profile> base, std::span<const Profile> next,
                 std::vector<GateReason>& reasons) {
  Reasons machine{"machine", reasons};
  new_errors(machine_errors(base), machine_errors(next), machine);
  if (std::ranges::any_of(next, ended_early) && std::ranges::none_of(base, ended_early))
    machine.add("ended_early", "run", "a new run ended before it had measured everything");
}

}  // namespace

bool Gate::passed() const { return std::ranges::all_of(reasons, &GateReason::allowed); }

Gate gate(std::span<const Profile> base, std::span<const Profile> next,
          const PairedDevices& devices, std::span<const DeviceComparison> compared,
          std::span<const std::string> allowed) {
  Gate result;
  add_machine(base, next, result.reasons);
  for (std::size_t i = 0; i < compared.size(); ++i)
    add_pair(devices.pairs[i], compared[i], result.reasons);
  for (const Runs& runs : devices.only_base)
    Reasons{gate_name(runs), result.reasons}.add("missing", "",
                                                 model_of(runs[0]) + ": not in the new profiles");
  for (const std::string& name : allowed) {
    bool used = false;
    for (GateReason& reason : result.reasons) {
      if (reason.name != name) continue;
      used = reason.allowed = true;
    }
    if (!used) result.unused.push_back(name);
  }
  return result;
}

}  // namespace peakline

#include "harness/core/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/core/findings.hpp"
#include "harness/core/labels.hpp"
#include "harness/core/statistics.hpp"
#include "harness/core/units.hpp"

namespace peakline {
namespace {

// From this many runs on their own spread gives an interval of 95 % (statistics.hpp).
constexpr std::size_t kRunsForSpread = 6;
// A clock or a power reading that moved by less explains nothing.
constexpr double kConditionMoved = 0.01;
// Rates per clock this close are the same: that much a clock's reading and a rate are off together.
constexpr double kSamePerClock = 0.02;
// Distinct values of one condition that are listed.
constexpr std::size_t kValuesShown = 3;

// One device in one run, with what was measured on it.
struct Run {
  const Profile* profile;
  const DeviceFacts* facts;  // nullptr: the host
  std::vector<const Measurement*> measurements;
  std::vector<const Ceiling*> ceilings;
};
using Runs = std::vector<Run>;

std::string model_of(const Run& run) {
  return run.facts != nullptr ? run.facts->name : run.profile->host.cpu_model;
}

std::string name_of(const Run& run) {
  return run.facts != nullptr ? fmt::format("GPU {} · {}", run.facts->index, run.facts->name)
                              : fmt::format("host · {}", run.profile->host.cpu_model);
}

// Every device of every profile of one side, by UUID ("host" for all hosts together).
std::map<std::string, Runs> runs_by_device(std::span<const Profile> profiles) {
  std::map<std::string, Runs> result;
  for (const Profile& profile : profiles) {
    std::map<std::string_view, Run> here;
    for (const DeviceFacts& device : profile.devices)
      here[device.uuid] = {&profile, &device, {}, {}};
    here[kHostDevice] = {&profile, nullptr, {}, {}};
    for (const Measurement& m : profile.measurements) {
      if (const auto run = here.find(m.device); run != here.end()) {
        run->second.measurements.push_back(&m);
      }
    }
    for (const Ceiling& c : profile.ceilings) {
      if (const auto run = here.find(c.device); run != here.end()) {
        run->second.ceilings.push_back(&c);
      }
    }
    for (auto& [uuid, run] : here) {
      // A run with --device does not always measure the host.
      if (run.facts == nullptr && run.measurements.empty()) continue;
      result[std::string(uuid)].push_back(std::move(run));
    }
  }
  return result;
}

void append(Runs& to, Runs&& from) {
  std::ranges::move(from, std::back_inserter(to));
  from.clear();
}

// Pairs what has an equal key, and leaves the rest in place.
template <class Key>
void pair_by(Key key, std::map<std::string, Runs>& base, std::map<std::string, Runs>& next,
             std::vector<std::pair<Runs, Runs>>& pairs) {
  using Value = decltype(key(base.begin()->first, base.begin()->second));
  std::map<Value, std::pair<Runs, Runs>> groups;
  std::map<Value, std::pair<bool, bool>> present;
  for (const auto& [uuid, runs] : base) present[key(uuid, runs)].first = true;
  for (const auto& [uuid, runs] : next) present[key(uuid, runs)].second = true;
  const auto take = [&](std::map<std::string, Runs>& side, Runs std::pair<Runs, Runs>::*member) {
    for (auto it = side.begin(); it != side.end();) {
      const auto value = key(it->first, it->second);
      const auto [in_base, in_next] = present[value];
      if (in_base && in_next) {
        append(groups[value].*member, std::move(it->second));
        it = side.erase(it);
      } else {
        ++it;
      }
    }
  };
  take(base, &std::pair<Runs, Runs>::first);
  take(next, &std::pair<Runs, Runs>::second);
  for (auto& [value, group] : groups) pairs.push_back(std::move(group));
}

std::vector<std::pair<Runs, Runs>> pair_devices(std::map<std::string, Runs>& base,
                                                std::map<std::string, Runs>& next) {
  const auto index = [](const Runs& runs) {
    return runs[0].facts != nullptr ? runs[0].facts->index : -1;
  };
  std::vector<std::pair<Runs, Runs>> pairs;
  pair_by([](const std::string& uuid, const Runs&) { return uuid; }, base, next, pairs);
  pair_by([&](const std::string&,
              const Runs& runs) { return std::pair(index(runs), model_of(runs[0])); },
          base, next, pairs);
  pair_by([&](const std::string&, const Runs& runs) { return index(runs); }, base, next, pairs);
  // GPUs in their order, the host last.
  std::ranges::stable_sort(pairs, {}, [&](const auto& pair) {
    const int i = index(pair.first);
    return std::pair(i < 0, i);
  });
  return pairs;
}

using CeilingId = std::pair<std::string, Basis>;

// One ceiling in each run that has it.
struct CeilingRuns {
  std::vector<const Ceiling*> rows;
  std::set<int> method_versions;
  bool shared = false;  // with other machines' work
};

// In the order in which a profile has them.
std::vector<std::pair<CeilingId, CeilingRuns>> ceilings_of(const Runs& runs) {
  std::vector<std::pair<CeilingId, CeilingRuns>> result;
  std::map<CeilingId, std::size_t> position;
  for (const Run& run : runs) {
    for (const Ceiling* row : run.ceilings) {
      if (row->measurement.empty() || row->value <= 0) continue;
      const CeilingId id{row->resource, row->basis};
      const auto [found, added] = position.try_emplace(id, result.size());
      if (added) result.push_back({id, {}});
      CeilingRuns& all = result[found->second].second;
      all.rows.push_back(row);
      all.shared =
          all.shared || (run.facts == nullptr && !run.profile->host.virtualization.empty());
      const auto source = std::ranges::find_if(run.measurements, [&](const Measurement* m) {
        return row->measurement.starts_with(m->id) && row->measurement == m->name();
      });
      if (source != run.measurements.end()) all.method_versions.insert((*source)->method_version);
    }
  }
  return result;
}

std::optional<double> median_of(const std::vector<const Ceiling*>& rows,
                                std::optional<double> Conditions::*field) {
  std::vector<double> known;
  for (const Ceiling* row : rows) {
    if (row->conditions.*field) known.push_back(*(row->conditions.*field));
  }
  if (known.empty()) return std::nullopt;
  return median(known);
}

// What held the clock down in any of the runs.
std::string limit_of(const std::vector<const Ceiling*>& rows) {
  const auto any = [&](bool (*limited)(const Conditions&)) {
    return std::ranges::any_of(rows, [&](const Ceiling* row) { return limited(row->conditions); });
  };
  return any(thermally_limited) ? "heat" : any(power_capped) ? "power cap" : "";
}

SideValue side_value(const CeilingRuns& runs) {
  std::vector<double> values, lows, highs;
  bool power_limited = false;
  for (const Ceiling* row : runs.rows) {
    values.push_back(row->value);
    lows.push_back(row->ci_low.value_or(row->value));
    highs.push_back(row->ci_high.value_or(row->value));
    power_limited =
        power_limited || row->basis == Basis::kSustained || power_capped(row->conditions);
  }
  std::ranges::sort(lows);
  std::ranges::sort(highs);
  const std::size_t n = values.size();
  const auto [low_rank, high_rank] = median_interval_ranks(n);
  SideValue side{.value = median(values),
                 .low = lows[low_rank - 1],
                 .high = highs[high_rank - 1],
                 .runs = n,
                 .sm_clock_hz = median_of(runs.rows, &Conditions::sm_clock_hz),
                 .power_w = median_of(runs.rows, &Conditions::power_w),
                 .limit = limit_of(runs.rows)};
  if (n < kRunsForSpread) {
    const double run_to_run = runs.shared     ? kRunToRunShared
                              : power_limited ? kRunToRunPowerLimited
                                              : kRunToRun;
    const double unseen = run_to_run / 2 / static_cast<double>(n);
    side.low *= 1 - unseen;
    side.high *= 1 + unseen;
  }
  return side;
}

Verdict judge(const CeilingComparison& c, double threshold) {
  if (c.ratio_low > 1 && c.ratio > 1 + threshold) return Verdict::kFaster;
  if (c.ratio_high < 1 && c.ratio < 1 - threshold) return Verdict::kSlower;
  if (c.ratio_low >= 1 - threshold && c.ratio_high <= 1 + threshold) return Verdict::kSame;
  return Verdict::kUndecided;
}

bool is_compute(std::string_view unit) { return unit == "FLOP/s" || unit == "OP/s"; }

bool moved(const std::optional<double>& from, const std::optional<double>& to) {
  return from && to && *from > 0 && std::abs(*to / *from - 1) > kConditionMoved;
}

// Whether a compute rate differs per clock, which is the chip's or the software's doing, or only as
// its clock does, which is a power cap's or heat's. Empty where it does not differ.
std::string per_clock(const CeilingComparison& c) {
  if (!c.ratio_per_clock || std::abs(c.ratio - 1) <= kConditionMoved) return {};
  if (std::abs(*c.ratio_per_clock - 1) > kSamePerClock) {
    return fmt::format("{:.3f} per clock (chip or software)", *c.ratio_per_clock);
  }
  if (!moved(c.base.sm_clock_hz, c.next.sm_clock_hz)) return {};
  const std::string& limit = c.ratio < 1 ? c.next.limit : c.base.limit;
  return limit.empty() ? "the same per clock" : fmt::format("the same per clock ({})", limit);
}

std::string what_moved(const CeilingComparison& c) {
  std::vector<std::string> parts;
  if (auto text = per_clock(c); !text.empty()) parts.push_back(std::move(text));
  if (moved(c.base.sm_clock_hz, c.next.sm_clock_hz)) {
    parts.push_back(fmt::format("SM clock {:.0f} → {:.0f} MHz", *c.base.sm_clock_hz / 1e6,
                                *c.next.sm_clock_hz / 1e6));
  }
  if (moved(c.base.power_w, c.next.power_w)) {
    parts.push_back(fmt::format("power {:.0f} → {:.0f} W", *c.base.power_w, *c.next.power_w));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string ceiling_name(const CeilingId& id) {
  return fmt::format("{} ({})", id.first, to_string(id.second));
}

void compare_ceilings(const Runs& base, const Runs& next, double threshold, DeviceComparison& out) {
  const auto before = ceilings_of(base);
  const auto after = ceilings_of(next);
  std::map<CeilingId, const CeilingRuns*> in_base, in_next;
  for (const auto& [id, runs] : before) in_base[id] = &runs;
  for (const auto& [id, runs] : after) in_next[id] = &runs;
  for (const auto& [id, runs] : after) {
    if (!in_base.contains(id)) out.only_next.push_back(ceiling_name(id));
  }
  for (const auto& [id, runs] : before) {
    const auto found = in_next.find(id);
    if (found == in_next.end()) {
      out.only_base.push_back(ceiling_name(id));
      continue;
    }
    CeilingComparison c;
    std::tie(c.resource, c.basis) = id;
    c.unit = runs.rows[0]->unit;
    c.base = side_value(runs);
    c.next = side_value(*found->second);
    c.ratio = c.next.value / c.base.value;
    c.ratio_low = c.next.low / c.base.high;
    c.ratio_high = c.next.high / c.base.low;
    if (is_compute(c.unit) && c.base.sm_clock_hz.value_or(0) > 0 &&
        c.next.sm_clock_hz.value_or(0) > 0) {
      c.ratio_per_clock = c.ratio * *c.base.sm_clock_hz / *c.next.sm_clock_hz;
    }
    c.why = what_moved(c);
    c.verdict = out.same_model ? judge(c, threshold) : Verdict::kNotJudged;
    if (runs.method_versions != found->second->method_versions) {
      if (out.same_model) c.verdict = Verdict::kUndecided;
      c.why = "the method of measuring changed";
    }
    out.ceilings.push_back(std::move(c));
  }
}

// A benchmark may have several sweeps, each of which names what it varies: "gemm.bf16/data".
std::string sweep_of(const Measurement& m) {
  const bool named =
      m.params.size() == 1 && std::holds_alternative<std::string>(m.params.front().second);
  return named ? m.id + "/" + m.params.front().first : m.id;
}

// A side of the product that the search for a kernel chose makes another point.
std::string point_of(const Measurement& m) {
  const std::string name = m.name();
  std::string point = name.size() > m.id.size() ? name.substr(m.id.size() + 1) : std::string();
  if (const auto n = int_param(m.launch, "n")) point += fmt::format("/n:{}", *n);
  return point;
}

// Points of a sweep; a ceiling's is told by its load.
bool in_curve(const Measurement& m) {
  return m.status == Status::kOk && m.value && *m.value > 0 && !m.flags.implausible &&
         m.verified != false && find_param(m.params, "load") == nullptr &&
         !m.id.starts_with("mma.");
}

struct CurvePoints {
  std::string unit;
  std::vector<std::string> order;  // of the points
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, std::vector<double>> per_clock;  // of compute rates whose clocks are known
};

std::map<std::string, CurvePoints> curves_of(const Runs& runs) {
  std::map<std::string, CurvePoints> curves;
  for (const Run& run : runs) {
    for (const Measurement* m : run.measurements) {
      if (!in_curve(*m)) continue;
      CurvePoints& curve = curves[fmt::format("{}#{}", sweep_of(*m), m->method_version)];
      const std::string point = point_of(*m);
      std::vector<double>& values = curve.values[point];
      if (values.empty()) curve.order.push_back(point);
      curve.unit = m->unit;
      values.push_back(*m->value);
      if (is_compute(m->unit) && m->conditions.sm_clock_hz.value_or(0) > 0) {
        curve.per_clock[point].push_back(*m->value / *m->conditions.sm_clock_hz);
      }
    }
  }
  return curves;
}

// "id#2" -> "id"
std::string without_method(const std::string& key) { return key.substr(0, key.rfind('#')); }

void find_parting(CurveComparison& curve, double threshold) {
  const auto side = [&](double ratio) {
    return ratio > 1 + threshold ? 1 : ratio < 1 - threshold ? -1 : 0;
  };
  for (std::size_t begin = 0; begin < curve.points.size();) {
    const int direction = side(curve.points[begin].ratio);
    std::size_t end = begin + 1;
    while (end < curve.points.size() && side(curve.points[end].ratio) == direction) ++end;
    if (direction != 0 && end - begin > curve.part_end - curve.part_begin) {
      curve.part_begin = begin;
      curve.part_end = end;
    }
    begin = end;
  }
}

void compare_curves(const Runs& base, const Runs& next, double threshold, DeviceComparison& out) {
  const auto before = curves_of(base);
  const auto after = curves_of(next);
  for (const auto& [key, curve] : after) {
    if (!before.contains(key)) out.only_next.push_back(without_method(key));
  }
  for (const auto& [key, curve] : before) {
    const auto found = after.find(key);
    if (found == after.end()) {
      out.only_base.push_back(without_method(key));
      continue;
    }
    CurveComparison c;
    c.id = without_method(key);
    std::vector<double> ratios, ratios_per_clock;
    std::size_t alone = 0;
    for (const std::string& point : curve.order) {
      const auto other = found->second.values.find(point);
      if (other == found->second.values.end()) {
        ++alone;
        continue;
      }
      const double a = median(curve.values.at(point));
      const double b = median(other->second);
      c.points.push_back({point, curve.unit == "s" ? a / b : b / a});
      ratios.push_back(c.points.back().ratio);
      const auto clocked = curve.per_clock.find(point);
      const auto other_clocked = found->second.per_clock.find(point);
      if (clocked != curve.per_clock.end() && other_clocked != found->second.per_clock.end()) {
        ratios_per_clock.push_back(median(other_clocked->second) / median(clocked->second));
      }
    }
    const std::size_t alone_after = found->second.order.size() - c.points.size();
    const auto points = [](std::size_t n) {
      return fmt::format("{} point{}", n, n == 1 ? "" : "s");
    };
    if (alone > 0) out.only_base.push_back(fmt::format("{} ({})", c.id, points(alone)));
    if (alone_after > 0) out.only_next.push_back(fmt::format("{} ({})", c.id, points(alone_after)));
    if (c.points.empty()) continue;
    c.median_ratio = median(ratios);
    if (ratios_per_clock.size() == ratios.size()) {
      c.median_ratio_per_clock = median(ratios_per_clock);
    }
    find_parting(c, threshold);
    out.curves.push_back(std::move(c));
  }
}

// What may explain a difference, as it was during the run. "": not known.
std::vector<std::pair<std::string, std::string>> conditions_of(const Run& run) {
  const Profile& p = *run.profile;
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](std::string what, std::string value) {
    facts.emplace_back(std::move(what), std::move(value));
  };
  const auto known = [](const std::optional<double>& value, std::string_view unit) {
    return value ? format_value(*value, unit) : std::string();
  };
  add("mode", p.mode);
  if (const DeviceFacts* d = run.facts) {
    add("driver", p.software.driver);
    add("CUDA", p.software.cuda_runtime);
    add("cuBLASLt", p.software.cublaslt);
    add("power limit", known(d->power_limit_w, "W"));
    add("maximum SM clock", known(d->sm_clock_max_hz, "Hz"));
    add("maximum memory clock", known(d->memory_clock_max_hz, "Hz"));
    add("PCIe link", d->pcie_read_under_load && d->pcie.generation && d->pcie.width
                         ? fmt::format("{}.0 x{}", *d->pcie.generation, *d->pcie.width)
                         : std::string());
    add("ECC", d->ecc_enabled ? (*d->ecc_enabled ? "on" : "off") : "");
    add("MIG", d->mig_enabled ? (*d->mig_enabled ? "on" : "off") : "");
    add("VBIOS", d->vbios);
    add("other processes", d->processes.empty() ? "no" : "yes");
  } else {
    add("memory", known(p.host.memory_bytes, "B"));
    add("usable threads", p.host.usable_threads ? std::to_string(*p.host.usable_threads) : "");
    add("vector extension", p.host.vector_extension);
    add("kernel", p.host.kernel);
    add("compiler", p.software.cxx_compiler);
  }
  add("CPU governor", p.host.cpu_governor);
  add("virtualization", p.host.virtualization.empty() ? "none" : p.host.virtualization);
  std::vector<std::string> environment;
  for (const auto& [name, value] : p.software.environment) {
    environment.push_back(fmt::format("{}={}", name, value));
  }
  add("environment", environment.empty() ? "none" : fmt::format("{}", fmt::join(environment, " ")));
  add("peakline", fmt::format("{} {}", p.tool, p.software.git_revision));
  add("build", p.software.build_type);
  return facts;
}

void compare_conditions(const Runs& base, const Runs& next, DeviceComparison& out) {
  struct Values {
    std::set<std::string> base, next;
  };
  std::vector<std::string> order;
  std::map<std::string, Values> values;
  const auto collect_side = [&](const Runs& runs, std::set<std::string> Values::*side) {
    for (const Run& run : runs) {
      for (auto& [what, value] : conditions_of(run)) {
        if (!values.contains(what)) order.push_back(what);
        if (!value.empty()) (values[what].*side).insert(value);
      }
    }
  };
  collect_side(base, &Values::base);
  collect_side(next, &Values::next);
  const auto listed = [](const std::set<std::string>& all) {
    std::vector<std::string> shown(all.begin(), all.end());
    const std::size_t more = shown.size() > kValuesShown ? shown.size() - kValuesShown : 0;
    shown.resize(shown.size() - more);
    std::string text = fmt::format("{}", fmt::join(shown, ", "));
    return more > 0 ? text + fmt::format(" and {} more", more) : text;
  };
  for (const std::string& what : order) {
    const Values& both = values[what];
    // What one side does not know is no difference.
    if (both.base.empty() || both.next.empty() || both.base == both.next) continue;
    out.differences.push_back({what, listed(both.base), listed(both.next)});
  }
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  static constexpr std::array<std::string_view, 5> kNames = {"faster", "slower", "same",
                                                             "undecided", "not_judged"};
  return kNames[static_cast<std::size_t>(verdict)];
}

CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options) {
  CompareResult result;
  result.base_runs = base.size();
  result.next_runs = next.size();
  result.threshold = options.threshold;
  auto before = runs_by_device(base);
  auto after = runs_by_device(next);
  for (const auto& [base_runs, next_runs] : pair_devices(before, after)) {
    DeviceComparison device;
    device.base_name = name_of(base_runs[0]);
    device.next_name = name_of(next_runs[0]);
    device.same_model = model_of(base_runs[0]) == model_of(next_runs[0]);
    compare_ceilings(base_runs, next_runs, options.threshold, device);
    compare_curves(base_runs, next_runs, options.threshold, device);
    compare_conditions(base_runs, next_runs, device);
    result.devices.push_back(std::move(device));
  }
  for (const auto& [uuid, runs] : before) result.only_base.push_back(name_of(runs[0]));
  for (const auto& [uuid, runs] : after) result.only_next.push_back(name_of(runs[0]));
  return result;
}

bool has_regression(const CompareResult& result) {
  return std::ranges::any_of(result.devices, [](const DeviceComparison& device) {
    return std::ranges::any_of(
        device.ceilings, [](const CeilingComparison& c) { return c.verdict == Verdict::kSlower; });
  });
}

}  // namespace peakline

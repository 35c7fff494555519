// The verdict on each ceiling; comparison.hpp has the rule.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/core/comparison/sides.hpp"
#include "harness/core/findings.hpp"
#include "harness/core/labels.hpp"
#include "harness/core/statistics.hpp"

namespace peakline {
namespace {

// From this many runs on their own spread gives an interval of 95 % (statistics.hpp).
constexpr std::size_t kRunsForSpread = 6;

using CeilingId = std::pair<std::string, Basis>;

// One ceiling in each run that has it.
struct CeilingRuns {
  std::vector<const Ceiling*> rows;
  std::set<int> method_versions;
  bool shared = false;  // with other machines' work
  const DeviceView* last_run = nullptr;
};

// The measured ceilings of one side, in the order in which its profiles have them.
struct Ceilings {
  std::vector<CeilingId> order;
  std::map<CeilingId, CeilingRuns> runs;
};

Ceilings ceilings_of(const Runs& runs) {
  Ceilings all;
  for (const DeviceView& run : runs) {
    const bool shared = run.facts == nullptr && !run.profile->host.virtualization.empty();
    for (const Ceiling* row : run.ceilings) {
      if (row->measurement.empty() || row->value <= 0) continue;
      const auto [found, added] = all.runs.try_emplace({row->resource, row->basis});
      if (added) all.order.push_back(found->first);
      CeilingRuns& ceiling = found->second;
      // Of several, a run's first counts.
      if (std::exchange(ceiling.last_run, &run) == &run) continue;
      ceiling.rows.push_back(row);
      ceiling.shared = ceiling.shared || shared;
      const Measurement* source = run.source(*row);
      if (source != nullptr) ceiling.method_versions.insert(source->method_version);
    }
  }
  return all;
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
  return Verdict::kInconclusive;
}

CeilingComparison compared(const CeilingId& id, const CeilingRuns& base, const CeilingRuns& next,
                           bool same_model, double threshold) {
  CeilingComparison c;
  std::tie(c.resource, c.basis) = id;
  c.unit = base.rows[0]->unit;
  c.base = side_value(base);
  c.next = side_value(next);
  c.ratio = c.next.value / c.base.value;
  c.ratio_low = c.next.low / c.base.high;
  c.ratio_high = c.next.high / c.base.low;
  if (is_compute(c.unit) && c.base.sm_clock_hz.value_or(0) > 0 &&
      c.next.sm_clock_hz.value_or(0) > 0) {
    c.ratio_per_clock = c.ratio * *c.base.sm_clock_hz / *c.next.sm_clock_hz;
  }
  c.method_changed = base.method_versions != next.method_versions;
  c.verdict = !same_model        ? Verdict::kNotJudged
              : c.method_changed ? Verdict::kInconclusive
                                 : judge(c, threshold);
  return c;
}

std::string name_of(const CeilingId& id) {
  return fmt::format("{} ({})", id.first, to_string(id.second));
}

}  // namespace

void compare_ceilings(const DevicePair& pair, double threshold, DeviceComparison& out) {
  const Ceilings base = ceilings_of(pair.base), next = ceilings_of(pair.next);
  for (const CeilingId& id : next.order) {
    if (!base.runs.contains(id)) out.only_next.push_back(name_of(id));
  }
  const ResourceLabels labels(*pair.base[0].profile);
  for (const CeilingId& id : base.order) {
    const auto found = next.runs.find(id);
    if (found == next.runs.end()) {
      out.only_base.push_back(name_of(id));
    } else {
      out.ceilings.push_back(
          compared(id, base.runs.at(id), found->second, out.same_model, threshold));
      out.ceilings.back().label = labels(id.first);
    }
  }
}

}  // namespace peakline

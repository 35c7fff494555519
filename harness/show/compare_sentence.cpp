#include "harness/show/compare_sentence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "harness/show/compare.hpp"
#include "harness/show/compare_device.hpp"
#include "harness/show/compare_fleet.hpp"
#include "harness/values/point_names.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Curves of which nobody can tell whether they differ, but that look at least this much slower.
constexpr double kFarBelow = 0.5;

// The figures of a result, each judged one counted once.
struct Counts {
  std::int64_t judged = 0, equal = 0, as_cards = 0, open = 0, faster = 0;
  std::size_t allowed = 0;  // reasons
  double bound = 0;         // no figure differs by more, besides those that vary too much
  std::size_t runs = 0;     // a side, that settle open ones
  const CeilingComparison* furthest = nullptr;  // of those that differ as cards do
  std::string curves;                           // those that deviate
  std::vector<const CeilingComparison*> varying;
};
Counts counts_of(const CompareResult& result) {
  Counts counts;
  counts.curves = deviating_curves(result.devices);
  counts.allowed = static_cast<std::size_t>(
      std::ranges::count(result.gate.reasons, Outcome::kExcused, &Judged::outcome));
  for (const CeilingComparison* c : judged(result.devices)) {
    ++counts.judged;
    switch (c->verdict) {
      case Verdict::kSame:
        ++counts.equal;
        continue;
      case Verdict::kFaster:
        ++counts.faster;
        continue;
      case Verdict::kWithinModel:
        ++counts.as_cards;
        if (counts.furthest == nullptr || difference(c) > difference(counts.furthest))
          counts.furthest = c;
        break;
      case Verdict::kInconclusive:
        if (c->too_noisy()) {
          counts.varying.push_back(c);
          continue;
        }
        ++counts.open;
        counts.runs = std::max(counts.runs, c->runs_to_settle.value_or(0));
        break;
      default:
        continue;  // a reason of the gate
    }
    counts.bound = std::max({counts.bound, result.threshold, 1 - c->ratio_low, c->ratio_high - 1});
  }
  return counts;
}

// "13 of 14 inconclusive figures are slower, by 2.1 % in the median".
std::string leaning(const Lean& lean) {
  return fmt::format("{} of {} inconclusive figures are {}, by {} in the median", lean.figures,
                     lean.inconclusive, lean.slower() ? "slower" : "faster",
                     format_percent(std::abs(lean.ratio - 1)));
}

// "26 figures equal, 5 differ as cards do (most: FP32 GEMM achievable -7.1 %), 15 inconclusive
// (7 runs a side say more); PCIe both ways is too noisy to tell".
std::string counted(const Counts& counts, const std::optional<Lean>& lean, bool with_equal) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const std::string& how) {
    if (count > 0)
      parts.push_back(
          (parts.empty() && with_equal ? format_count(count, "figure") : std::to_string(count)) +
          how);
  };
  if (with_equal) add(counts.equal, " equal");
  if (counts.furthest != nullptr)
    add(counts.as_cards,
        fmt::format(" {} as cards do ({}{} {})", counts.as_cards == 1 ? "differs" : "differ",
                    counts.as_cards == 1 ? "" : "most: ", counts.furthest->label,
                    format_signed_percent(counts.furthest->ratio - 1)));
  const std::string more =
      counts.runs > 0 ? fmt::format(" ({} runs a side say more)", counts.runs) : "";
  std::vector<std::string> all;
  if (lean)
    all.push_back(leaning(*lean) + more);
  else
    add(counts.open, " inconclusive" + more);
  if (!parts.empty()) all.push_back(joined(parts));
  if (!counts.curves.empty()) all.push_back(counts.curves);
  if (!counts.varying.empty()) all.push_back(too_noisy(counts.varying));
  return joined(all, "; ");
}

// "node8 is as fast as node7 within 3.5 %: 12 figures equal, ...", or where figures lean "node8
// differs from node7 by at most 3.5 %: 13 of 14 ..."
std::string as_fast(const CompareResult& result) {
  const Counts counts = counts_of(result);
  if (counts.judged == 0) return "no figure could be judged";
  if (counts.equal + counts.as_cards + counts.open == 0) return counted(counts, {}, true);
  auto [base, next] = side_names(result);
  const auto [base_cards, next_cards] = pooled(result);
  if (base_cards > 0) base += fmt::format(" ({})", format_count(base_cards, "card"));
  if (next_cards > 0) next += fmt::format(" ({})", format_count(next_cards, "card"));
  const std::string apart = counts.allowed == 0
                                ? ""
                                : fmt::format(", apart from {} allowed {}", counts.allowed,
                                              counts.allowed == 1 ? "reason" : "reasons");
  return fmt::format("{}{} {} {}{}{}: {}", is_fleet(result) ? fleet_size(result) + ": " : "", next,
                     result.lean ? "differs from" : "is as fast as", base,
                     counts.bound == 0
                         ? ""
                         : fmt::format(" {} {:.1f} %", result.lean ? "by at most" : "within",
                                       std::ceil(1000 * counts.bound - 1e-9) / 10),
                     apart, counted(counts, result.lean, true));
}

// "; node8 by itself has a warning: gpu0/health/thermal_limit".
std::string own_warnings(const CompareResult& result) {
  const std::vector<Judged>& warnings = result.gate.warnings;
  if (warnings.empty() || result.gate.outcome() == Outcome::kFail) return "";
  const auto as_bad = std::ranges::count(warnings, warnings[0].outcome, &Judged::outcome);
  return fmt::format("; {} by itself {}: {}{}", side_names(result).second,
                     warnings[0].outcome == Outcome::kFail ? "fails check" : "has a warning",
                     to_string(warnings[0].name),
                     as_bad > 1 ? fmt::format(" and {} more", as_bad - 1) : "");
}

}  // namespace

std::vector<std::string> labels_of(const std::vector<const CeilingComparison*>& figures) {
  std::vector<std::string> labels;
  for (const CeilingComparison* c : figures)
    if (std::ranges::find(labels, c->label) == labels.end()) labels.push_back(c->label);
  return labels;
}

std::string too_noisy(const std::vector<const CeilingComparison*>& varying) {
  const std::vector<std::string> labels = labels_of(varying);
  return shortened(labels) + (labels.size() == 1 ? " is" : " are") + " too noisy to tell";
}

std::string deviating_curves(std::span<const DeviceComparison> devices) {
  struct Group {
    std::ptrdiff_t count = 0;
    std::vector<std::string> names = {};

    void add(const CurveComparison& curve) {
      ++count;
      if (const std::string name = name_of_id(curve.id);
          std::ranges::find(names, name) == names.end())
        names.push_back(name);
    }
  };
  std::map<Verdict, Group> groups;
  Group noisy;
  double lowest = 1;
  for (const DeviceComparison& device : devices)
    for (const CurveComparison& curve : device.curves) {
      if (deviates(curve.verdict) && !device.told_by_ceiling(curve)) {
        groups[curve.verdict].add(curve);
      } else if (curve.verdict == Verdict::kInconclusive && curve.median_ratio <= kFarBelow) {
        noisy.add(curve);
        lowest = std::min(lowest, curve.median_ratio);
      }
    }
  std::vector<std::string> parts;
  for (const auto& [verdict, how] :
       {std::pair{Verdict::kSlower, "slower"}, std::pair{Verdict::kFaster, "faster"},
        std::pair{Verdict::kUneven, "uneven"}, std::pair{Verdict::kWithinModel, "as cards differ"}})
    if (const auto found = groups.find(verdict); found != groups.end())
      parts.push_back(fmt::format("{} {} ({})", format_count(found->second.count, "curve"), how,
                                  shortened(found->second.names)));
  if (noisy.count > 0)
    parts.push_back(fmt::format(
        "{} {} times slower, but too noisy to tell ({})",
        noisy.count == 1 ? "1 curve looks" : format_count(noisy.count, "curve") + " look up to",
        format_number(1 / lowest), shortened(noisy.names)));
  return joined(parts, "; ");
}

std::pair<std::string, std::string> side_names(const CompareResult& result) {
  if (result.base_files.size() != 1 || result.next_files.size() != 1) return {"base", "new"};
  const std::string &base = result.base_files[0], &next = result.next_files[0];
  if (stem_of(base) == stem_of(next)) return {base, next};
  return {stem_of(base), stem_of(next)};
}

std::pair<std::size_t, std::size_t> pooled(const CompareResult& result) {
  std::pair<std::size_t, std::size_t> all;
  bool any = false;
  for (const DeviceComparison& device : result.devices) {
    any = any || device.base_cards > 1 || device.next_cards > 1;
    all.first += device.base_cards;
    all.second += device.next_cards;
  }
  return any ? all : std::pair<std::size_t, std::size_t>();
}

std::string main_point(const CompareResult& result) {
  const std::string_view verdict = result.verdict();
  const Judged* found = nullptr;
  std::int64_t reasons = 0;
  for (const Judged& reason : result.gate.reasons) {
    if (reason.passes()) continue;
    ++reasons;
    const auto rank = [&](const Judged& r) {
      return std::pair(to_string(r.kind) == verdict, r.outcome);
    };
    if (found == nullptr || rank(reason) > rank(*found)) found = &reason;
  }
  const Counts counts = counts_of(result);
  if (found != nullptr) {
    const bool in_figures = found->kind == RuleKind::kSlower || found->kind == RuleKind::kUnsteady;
    const std::string text =
        is_fleet(result) ? fleet_point(result)
        : in_figures     ? machine_point(result)
                         : fmt::format("{}: {}{}", to_string(found->name), describe(*found),
                                   reasons > 1 ? fmt::format(", and {} more", reasons - 1) : "");
    const bool rest = verdict == "cannot_judge" && counts.equal > 0 &&
                      std::ranges::all_of(result.devices, &DeviceComparison::same_model);
    return text + (rest ? "; otherwise " + as_fast(result) : "") + own_warnings(result);
  }
  if (verdict != "faster") return as_fast(result) + own_warnings(result);
  const auto [base, next] = side_names(result);
  const std::string others = counted(counts, result.lean, false);
  return fmt::format("{} is faster than {} in {} of {} by more than {:.1f} %, slower in none{}{}",
                     next, base, counts.faster, format_count(counts.judged, "figure"),
                     result.threshold * 100, others.empty() ? "" : "; " + others,
                     own_warnings(result));
}

}  // namespace peakline

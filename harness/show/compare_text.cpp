#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "harness/judge/comparison.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/compare_fleet.hpp"
#include "harness/show/table.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/point_names.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Smaller changes of clock or power explain nothing.
constexpr double kConditionMoved = 0.01;
// Rates per clock this close are equal, within the errors of clock and rate.
constexpr double kSamePerClock = 0.02;
// Reasons of a fleet that are printed.
constexpr std::size_t kMostLines = 8;

Cell verdict_cell(Verdict verdict) {
  const Style style = verdict == Verdict::kFaster                                    ? Style::kGreen
                      : verdict == Verdict::kSlower || verdict == Verdict::kUnsteady ? Style::kRed
                      : verdict == Verdict::kUneven || verdict == Verdict::kInconclusive
                          ? Style::kYellow
                          : Style::kPlain;
  return text_cell(verdict == Verdict::kNotJudged     ? "not judged"
                   : verdict == Verdict::kWithinModel ? "as cards differ"
                                                      : std::string(to_string(verdict)),
                   style);
}

Cell ratio_cell(const std::optional<double>& value) { return number_cell(Format::kRatio, value); }

// The last column of both tables.
Column verdict_column() { return {.key = "verdict", .head = "verdict", .is_text = true}; }

// Between models, only conclusive intervals make a winner.
std::string winner(const CeilingComparison& c) {
  return c.ratio_low > 1 ? "new faster" : c.ratio_high < 1 ? "base faster" : "close";
}

bool moved(const std::optional<double>& from, const std::optional<double>& to) {
  return from && to && *from > 0 && std::abs(*to / *from - 1) > kConditionMoved;
}

// Whether a compute rate differs per clock (chip, software) or by clock (power cap, heat), or "".
std::string per_clock(const CeilingComparison& c) {
  if (!c.ratio_per_clock || std::abs(c.ratio - 1) <= kConditionMoved) return {};
  if (std::abs(*c.ratio_per_clock - 1) > kSamePerClock) {
    return fmt::format("at equal clock {}: the SM clock is not the cause",
                       format_signed_percent(*c.ratio_per_clock - 1));
  }
  if (!moved(c.base.sm_clock_hz, c.next.sm_clock_hz)) return {};
  const std::string& limit = c.ratio < 1 ? c.next.limit : c.base.limit;
  return limit.empty() ? "same per clock" : fmt::format("same per clock ({})", limit);
}

// Whether the sides differ, if only within the model's scatter.
bool deviates(Verdict verdict) {
  return verdict == Verdict::kSlower || verdict == Verdict::kFaster ||
         verdict == Verdict::kUnsteady || verdict == Verdict::kWithinModel ||
         verdict == Verdict::kUneven;
}

// Means to decide inconclusive figures.
struct Settling {
  std::vector<const CeilingComparison*> by_runs, by_threshold, varying;  // varying: by neither
  std::size_t runs = 0;                                                  // a side
  double threshold = 0;
};
Settling settling(const std::vector<const CeilingComparison*>& inconclusive) {
  Settling result;
  for (const CeilingComparison* c : inconclusive) {
    if (c->runs_to_settle) {
      result.by_runs.push_back(c);
      result.runs = std::max(result.runs, *c->runs_to_settle);
    } else if (!c->too_noisy()) {
      result.by_threshold.push_back(c);
      result.threshold = std::max(result.threshold, *c->threshold_to_settle);
    } else {
      result.varying.push_back(c);
    }
  }
  return result;
}

// Labels, each once: several GPUs may have one.
std::vector<std::string> labels_of(const std::vector<const CeilingComparison*>& figures) {
  std::vector<std::string> labels;
  for (const CeilingComparison* c : figures)
    if (std::ranges::find(labels, c->label) == labels.end()) labels.push_back(c->label);
  return labels;
}

// "PCIe both ways is too noisy to tell".
std::string too_noisy(const std::vector<const CeilingComparison*>& varying) {
  const std::vector<std::string> labels = labels_of(varying);
  return shortened(labels) + (labels.size() == 1 ? " is" : " are") + " too noisy to tell";
}

std::string advice(const std::vector<const CeilingComparison*>& inconclusive) {
  const Settling settles = settling(inconclusive);
  std::vector<std::string> parts;
  const auto add = [&](const std::string& by, const std::vector<const CeilingComparison*>& what) {
    if (!what.empty())
      parts.push_back(fmt::format("{} settle {} of the {} inconclusive figures ({}).", by,
                                  what.size(), inconclusive.size(), shortened(labels_of(what))));
  };
  add(fmt::format("{} runs a side could", settles.runs), settles.by_runs);
  add(fmt::format("--threshold {:.1f} would", std::ceil(1000 * settles.threshold) / 10),
      settles.by_threshold);
  if (!settles.varying.empty()) parts.push_back(too_noisy(settles.varying) + '.');
  return joined(parts, " ");
}

// From equality, as a share.
double difference(const CeilingComparison* c) { return std::abs(c->ratio - 1); }

std::vector<const CeilingComparison*> judged(std::span<const DeviceComparison> devices) {
  std::vector<const CeilingComparison*> found;
  for (const DeviceComparison& device : devices)
    for (const CeilingComparison& c : device.ceilings)
      if (c.verdict != Verdict::kNotJudged) found.push_back(&c);
  return found;
}

std::vector<const CeilingComparison*> inconclusive(std::span<const DeviceComparison> devices) {
  auto found = judged(devices);
  std::erase_if(found, [](const auto* c) { return c->verdict != Verdict::kInconclusive; });
  return found;
}

// Curves of which nobody can tell whether they differ, but that look at least this much slower.
constexpr double kFarBelow = 0.5;

// "1 curve slower (launch graph); 2 curves faster (...); 1 curve looks 4.9 times slower, and is too
// noisy to tell (PCIe H2D pageable)"; empty for none.
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

std::string tally(std::span<const DeviceComparison> devices, std::size_t width) {
  std::map<Verdict, std::size_t> count;
  std::ptrdiff_t all = 0;
  std::size_t models = 0, base_faster = 0, next_faster = 0;
  for (const DeviceComparison& device : devices) {
    all += std::ssize(device.ceilings);
    for (const CeilingComparison& c : device.ceilings) {
      ++count[c.verdict];
      if (device.same_model) continue;
      ++models;
      base_faster += c.ratio_high < 1;
      next_faster += c.ratio_low > 1;
    }
  }
  if (all == 0) return "no ceilings in common\n";
  count[Verdict::kNotJudged] -= models;
  std::vector<std::string> parts;
  for (const auto& [verdict, word] :
       {std::pair{Verdict::kSlower, "slower"}, std::pair{Verdict::kFaster, "faster"},
        std::pair{Verdict::kInconclusive, "inconclusive"}, std::pair{Verdict::kSame, "same"},
        std::pair{Verdict::kUnsteady, "unsteady"}, std::pair{Verdict::kUneven, "uneven"},
        std::pair{Verdict::kWithinModel, "within the model's scatter"},
        std::pair{Verdict::kNotJudged, "not judged"}}) {
    if (count[verdict] > 0) parts.push_back(fmt::format("{} {}", count[verdict], word));
  }
  if (models > 0) {
    parts.push_back(fmt::format("{} between different models (base faster in {}, new in {})",
                                models, base_faster, next_faster));
  }
  std::string text = fmt::format("{}: {}", format_count(all, "ceiling"), fmt::join(parts, ", "));
  if (const std::string curves = deviating_curves(devices); !curves.empty()) text += "; " + curves;
  const std::vector<const CeilingComparison*> open = inconclusive(devices);
  return hanging("", text, width) +
         (open.empty() ? std::string() : hanging("", advice(open), width));
}

// Where no figure deviates, and something else fails or cannot be judged.
constexpr std::size_t kLargestShown = 5;
std::vector<const CeilingComparison*> largest(const DeviceComparison& device) {
  std::vector<const CeilingComparison*> rows = judged({&device, 1});
  std::ranges::stable_sort(rows, std::ranges::greater{}, difference);
  rows.resize(std::min(rows.size(), kLargestShown));
  return rows;
}

// Rows to print of a pair: all, what deviates, or the largest differences.
enum class Rows { kAll, kDeviating, kLargest };

std::string ceiling_table(const DeviceComparison& device, Rows which, std::size_t width) {
  Table table{.key = "ceilings", .label_head = "GB/s, TFLOP/s"};
  table.columns = {{.key = "base", .head = "base", .bare = true},
                   {.key = "new", .head = "new", .bare = true},
                   {.key = "ratio", .head = "ratio"},
                   {.key = "half_width", .head = "±", .dispensable = 1},
                   verdict_column()};
  std::vector<const CeilingComparison*> rows;
  if (which == Rows::kLargest) {
    rows = largest(device);
  } else {
    for (const CeilingComparison& c : device.ceilings)
      if (which == Rows::kAll || !device.same_model || deviates(c.verdict)) rows.push_back(&c);
  }
  for (const CeilingComparison* row : rows) {
    const CeilingComparison& c = *row;
    table.rows.push_back(
        {.key = to_string(FigureKey(c)),
         .label = c.label,
         .cells = {value_cell(c.base.value, c.unit), value_cell(c.next.value, c.unit),
                   ratio_cell(c.ratio), ratio_cell((c.ratio_high - c.ratio_low) / 2),
                   device.same_model ? verdict_cell(c.verdict) : text_cell(winner(c))},
         .remark = c.verdict == Verdict::kSame ? "" : explanation(c)});
  }
  return text_of(table, width);
}

// Points whose ratio differs from 1 by more than the threshold.
std::string changed_points(const CurveComparison& c) {
  const std::size_t n = c.part_end - c.part_begin;
  if (n == c.points.size()) return "all points";
  const std::string& first = c.points[c.part_begin].name;
  return n == 1 ? first : fmt::format("{} to {}", first, c.points[c.part_end - 1].name);
}

std::string curve_table(const DeviceComparison& device, bool all, std::size_t width) {
  // Ranks of columns: a narrow terminal drops the highest first.
  enum { kNever, kExtremes, kPerClock };
  Table table{.key = "curves", .label_head = "curve (ratio of speeds)"};
  table.columns = {{.key = "median", .head = "median"},
                   {.key = "half_width", .head = "±", .gap = 1},
                   {.key = "per_clock", .head = "per clock", .dispensable = kPerClock},
                   {.key = "lowest", .head = "lowest", .dispensable = kExtremes},
                   {.key = "highest", .head = "highest", .dispensable = kExtremes},
                   verdict_column()};
  std::ptrdiff_t within = 0;
  for (const CurveComparison& c : device.curves) {
    const bool together = c.part_begin == c.part_end;
    if (!all && deviates(c.verdict) && device.told_by_ceiling(c)) continue;
    if (!deviates(c.verdict) && (together || !all)) {
      within += together;
      continue;
    }
    const auto [lowest, highest] =
        std::ranges::minmax(c.points, {}, &CurveComparison::Point::ratio);
    table.rows.push_back(
        {.key = c.id,
         .label = name_of_id(c.id),
         .cells = {ratio_cell(c.median_ratio), ratio_cell((c.ratio_high - c.ratio_low) / 2),
                   ratio_cell(c.median_ratio_per_clock), ratio_cell(lowest.ratio),
                   ratio_cell(highest.ratio), verdict_cell(c.verdict)},
         .remark = together ? "" : "beyond the threshold: " + changed_points(c)});
  }
  std::string text = text_of(table, width);
  if (all && within > 0)
    text += fmt::format("  {} within the threshold\n", format_count(within, "curve"));
  return text;
}

// most: lines of each kind.
std::string reasons_text(const Gate& gate, std::size_t most, std::size_t width) {
  std::string text;
  std::vector<std::string> lines;
  const auto print = [&] {
    for (std::size_t i = 0; i < std::min(lines.size(), most); ++i)
      text += hanging("  ", lines[i], width);
    if (lines.size() > most)
      text +=
          hanging("  ", fmt::format("and {} more; --all shows them", lines.size() - most), width);
    lines.clear();
  };
  for (const Judged& reason : gate.reasons) {
    if (reason.kind == RuleKind::kSlower && !reason.passes()) continue;  // in the tables
    lines.push_back(fmt::format("{}: {}{}", to_string(reason.name),
                                reason.passes() ? "allowed: " : "", describe(reason)));
  }
  print();
  for (const Judged& rule : gate.warnings)
    lines.push_back(fmt::format("{}: {}: {}", to_string(rule.name), spaced(to_string(rule.outcome)),
                                describe_alone(rule)));
  print();
  if (const std::string about = about_others(gate.warnings); !about.empty())
    text += hanging("  ", about, width);
  for (const std::string& name : gate.unused)
    text += hanging("  ", fmt::format("--allow {}: no reason has that name", name), width);
  return text;
}

std::string only_in(std::string_view side, const std::vector<std::string>& names,
                    std::size_t width) {
  if (names.empty()) return {};
  return hanging(fmt::format("  only in {}: ", side), joined(names), width);
}

std::string device_text(const DeviceComparison& device, Rows rows, std::size_t width) {
  const bool all = rows == Rows::kAll;
  std::string notes, table = ceiling_table(device, rows, width) + curve_table(device, all, width);
  if (!all && table.empty()) return {};
  if (rows == Rows::kLargest) {
    notes = "  no figure deviates; the largest differences:\n";
  } else if (!device.same_model) {
    notes = "  different models: ratios only, no verdicts\n";
  } else if (device.shared_host()) {
    notes = hanging("  ", "a virtual machine's neighbours use the host too: no verdicts", width);
  }
  if (device.untried)
    notes += hanging("  ", "the new mode measures less: what it leaves out is not missing", width);
  std::string title = device.machine.empty() ? "" : device.machine + " · ";
  title += device.base_name;
  if (device.next_name != device.base_name) title += "  →  " + device.next_name;
  std::string text = '\n' + hanging("", styled(Style::kBold, title), width) + notes + table;
  if (!device.differences.empty()) text += "  different conditions\n";
  for (const Difference& d : device.differences) {
    text += hanging("    " + pad_right(d.what, 22), fmt::format("{} → {}", d.base, d.next), width);
  }
  if (!all) return text;
  return text + only_in("base", device.only_base, width) + only_in("new", device.only_next, width);
}

// The sides' names: of their files, where each has one.
std::pair<std::string, std::string> side_names(const CompareResult& result) {
  if (result.base_files.size() != 1 || result.next_files.size() != 1) return {"base", "new"};
  const std::string &base = result.base_files[0], &next = result.next_files[0];
  if (stem_of(base) == stem_of(next)) return {base, next};
  return {stem_of(base), stem_of(next)};
}

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

// The most cards that are compared as one on either side, at least 1.
std::pair<std::size_t, std::size_t> pooled(const CompareResult& result) {
  std::pair<std::size_t, std::size_t> most = {1, 1};
  for (const DeviceComparison& device : result.devices)
    most = {std::max(most.first, device.base_cards), std::max(most.second, device.next_cards)};
  return most;
}

// "node8 is as fast as node7 within 3.5 %: 12 figures equal, ...", or where figures lean "node8
// differs from node7 by at most 3.5 %: 13 of 14 ..."
std::string as_fast(const CompareResult& result) {
  const Counts counts = counts_of(result);
  if (counts.judged == 0) return "no figure could be judged";
  if (counts.equal + counts.as_cards + counts.open == 0) return counted(counts, {}, true);
  auto [base, next] = side_names(result);
  const auto [base_cards, next_cards] = pooled(result);
  if (base_cards > 1) base += fmt::format(" ({} cards)", base_cards);
  if (next_cards > 1) next += fmt::format(" ({} cards)", next_cards);
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

// What deviates, or if nothing does in a result that cannot be judged, the largest differences.
Rows rows_of(const CompareResult& result, bool all) {
  if (all) return Rows::kAll;
  const bool any = std::ranges::any_of(result.devices, [](const DeviceComparison& device) {
    return !device.same_model ||
           std::ranges::any_of(device.ceilings, deviates, &CeilingComparison::verdict) ||
           std::ranges::any_of(device.curves, deviates, &CurveComparison::verdict);
  });
  return any || result.gate.passed() ? Rows::kDeviating : Rows::kLargest;
}

std::string first_line(const CompareResult& result, bool gate) {
  std::vector<std::string> kept;
  for (const std::string& file : result.kept_in) kept.push_back(file.substr(file.rfind('/') + 1));
  const std::string text =
      main_point(result) +
      (kept.empty() ? std::string() : fmt::format(" (with {})", fmt::join(kept, ", ")));
  if (gate) return verdict_line(result.gate.outcome(), text);
  const std::string_view word = result.verdict();
  return verdict_line(spaced(word),
                      word == "same" || word == "faster" ? Style::kGreen
                      : word == "cannot_judge"           ? Style::kYellow
                                                         : Style::kRed,
                      text);
}

}  // namespace

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

std::string explanation(const CeilingComparison& c) {
  if (c.method_changed) return "measurement method changed";
  std::vector<std::string> parts;
  if (c.verdict == Verdict::kWithinModel && c.between_cards)
    parts.push_back(fmt::format(
        "cards of the model {} by {:.1f} % ({})",
        c.assumed_from.empty() ? "scatter" : "are assumed to scatter", *c.between_cards * 100,
        c.assumed_from.empty() ? format_count(c.cards, "card")
                               : fmt::format("twice as much as {}s", c.assumed_from)));
  if (auto text = per_clock(c); !text.empty()) parts.push_back(std::move(text));
  if (moved(c.base.sm_clock_hz, c.next.sm_clock_hz)) {
    parts.push_back(fmt::format("SM clock {:.0f} → {:.0f} MHz", *c.base.sm_clock_hz / 1e6,
                                *c.next.sm_clock_hz / 1e6));
  }
  if (moved(c.base.power_w, c.next.power_w)) {
    parts.push_back(fmt::format("power {:.0f} → {:.0f} W", *c.base.power_w, *c.next.power_w));
  }
  return joined(parts);
}

std::string compare_text(const CompareResult& result, const CompareView& view,
                         const ShowOptions& options) {
  const std::size_t width = options.width;
  const auto [base, next] = side_names(result);
  const auto named = [](const std::string& name, std::size_t runs, std::string_view side) {
    return name == side ? format_count(runs, "profile") : name;
  };
  std::string text = first_line(result, view.gate);
  const bool fleet = is_fleet(result);
  text += reasons_text(result.gate, fleet && !view.all ? kMostLines : SIZE_MAX, width);
  if (fleet) text += fleet_notes(result, width);
  if (fleet && !view.all)
    text += deviating_cards(result, width);
  else
    for (const DeviceComparison& device : result.devices)
      text += device_text(device, rows_of(result, view.all), width);
  if (const auto [base_cards, next_cards] = pooled(result); base_cards > 1 || next_cards > 1)
    text += hanging("",
                    "The sides have no machine in common, so all cards of a side are compared as "
                    "one, which can hide a slow one: peakline fleet judges each card.",
                    width);
  text += '\n' + only_in("base", result.only_base, width) + only_in("new", result.only_next, width);
  if (!result.only_base.empty())
    text += hanging("  ", "What only base has counts as lost; --device LIST compares chosen GPUs.",
                    width);
  text += hanging(
      "",
      fmt::format("base: {}, new: {}; changes below {:.1f} % do not count{}",
                  named(base, result.base_runs, "base"), named(next, result.next_runs, "new"),
                  result.threshold * 100, view.all ? "" : "; --all shows every figure"),
      width);
  if (!result.kept_in.empty())
    text += hanging(
        "",
        fmt::format("how far runs differ is also taken from {}", fmt::join(result.kept_in, ", ")),
        width);
  // The first line says so if nothing deviates.
  if (view.all || result.verdict() != "same") text += tally(result.devices, width);
  return terminal_text(text, options.color);
}

}  // namespace peakline

#include "harness/show/compare_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "harness/show/compare.hpp"
#include "harness/show/table.hpp"
#include "harness/values/point_names.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Smaller changes of clock or power explain nothing.
constexpr double kConditionMoved = 0.01;
// Rates per clock this close are equal, within the errors of clock and rate.
constexpr double kSamePerClock = 0.02;

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

// Where no figure deviates, and something else fails or cannot be judged.
constexpr std::size_t kLargestShown = 5;
std::vector<const CeilingComparison*> largest(const DeviceComparison& device) {
  std::vector<const CeilingComparison*> rows = judged({&device, 1});
  std::ranges::stable_sort(rows, std::ranges::greater{}, difference);
  rows.resize(std::min(rows.size(), kLargestShown));
  return rows;
}

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
  const auto& [begin, end, ratio] = *c.part();
  if (end - begin == c.points.size()) return "all points";
  const std::string& first = c.points[begin].name;
  return end - begin == 1 ? first : fmt::format("{} to {}", first, c.points[end - 1].name);
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
    const bool together = !c.part();
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

}  // namespace

bool deviates(Verdict verdict) {
  return verdict == Verdict::kSlower || verdict == Verdict::kFaster ||
         verdict == Verdict::kUnsteady || verdict == Verdict::kWithinModel ||
         verdict == Verdict::kUneven;
}

double difference(const CeilingComparison* c) { return std::abs(c->ratio - 1); }

std::vector<const CeilingComparison*> judged(std::span<const DeviceComparison> devices) {
  std::vector<const CeilingComparison*> found;
  for (const DeviceComparison& device : devices)
    for (const CeilingComparison& c : device.ceilings)
      if (c.verdict != Verdict::kNotJudged) found.push_back(&c);
  return found;
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

}  // namespace peakline

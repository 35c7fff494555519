#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/comparison.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/text_table.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Beyond this many pairs of devices, only what changed is printed.
constexpr std::size_t kPairsInFull = 4;

// A clock or a power reading that moved by less explains nothing.
constexpr double kConditionMoved = 0.01;
// Rates per clock this close are the same: that much a clock's reading and a rate are off together.
constexpr double kSamePerClock = 0.02;

std::string ratio(double value) { return fmt::format("{:.3f}", value); }

// Bandwidths in GB/s and FLOP/s in TFLOP/s, as `show` has them, whatever their size.
std::string cell(double value, std::string_view unit) {
  return format_number(value / (unit == "B/s" ? 1e9 : 1e12));
}

std::string verdict_cell(Verdict verdict) {
  const std::string word(to_string(verdict));
  return verdict == Verdict::kFaster         ? styled(Style::kGreen, word)
         : verdict == Verdict::kSlower       ? styled(Style::kRed, word)
         : verdict == Verdict::kInconclusive ? styled(Style::kYellow, word)
         : verdict == Verdict::kNotJudged    ? "not judged"
         : verdict == Verdict::kWithinModel  ? "as cards differ"
                                             : word;
}

// Only what the interval bears out is a win between different models.
std::string winner(const CeilingComparison& c) {
  return c.ratio_low > 1 ? "new faster" : c.ratio_high < 1 ? "base faster" : "close";
}

bool moved(const std::optional<double>& from, const std::optional<double>& to) {
  return from && to && *from > 0 && std::abs(*to / *from - 1) > kConditionMoved;
}

// Whether a compute rate differs per clock, which is the chip's or the software's doing, or only as
// its clock does, which is a power cap's or heat's. Empty where it does not differ.
std::string per_clock(const CeilingComparison& c) {
  if (!c.ratio_per_clock || std::abs(c.ratio - 1) <= kConditionMoved) return {};
  if (std::abs(*c.ratio_per_clock - 1) > kSamePerClock) {
    return ratio(*c.ratio_per_clock) + " per clock (chip or software)";
  }
  if (!moved(c.base.sm_clock_hz, c.next.sm_clock_hz)) return {};
  const std::string& limit = c.ratio < 1 ? c.next.limit : c.base.limit;
  return limit.empty() ? "same per clock" : fmt::format("same per clock ({})", limit);
}

bool unchanged(const CeilingComparison& c) { return c.verdict == Verdict::kSame; }

// Says what would decide what these have not: how many runs, or which threshold. One that hides a
// real loss in everything else is no advice.
std::string advice(const std::vector<const CeilingComparison*>& inconclusive) {
  constexpr double kHighestThreshold = 0.05;
  std::ptrdiff_t settled = 0, by_threshold = 0;
  std::size_t runs = 0;
  double threshold = 0;
  std::vector<std::string> varying;
  for (const CeilingComparison* c : inconclusive) {
    const double needed = c->threshold_to_settle.value_or(INFINITY);
    if (c->runs_to_settle) {
      ++settled;
      runs = std::max(runs, *c->runs_to_settle);
    } else if (needed <= kHighestThreshold) {
      ++by_threshold;
      threshold = std::max(threshold, needed);
    } else {
      varying.push_back(ceiling_name(c->resource, c->basis));
    }
  }
  std::vector<std::string> parts;
  if (settled > 0) {
    parts.push_back(fmt::format("With {} runs a side, {} of the {} inconclusive could be settled.",
                                runs, settled, inconclusive.size()));
  }
  if (by_threshold > 0) {
    parts.push_back(fmt::format("--threshold {:.1f} would settle {}{}.",
                                std::ceil(1000 * threshold) / 10, by_threshold,
                                settled > 0 ? " more" : ""));
  }
  if (!varying.empty()) {
    parts.push_back(fmt::format("{} {} too much from run to run.", shortened(varying),
                                varying.size() == 1 ? "varies" : "vary"));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string tally(std::span<const DeviceComparison> devices, std::size_t width) {
  std::map<Verdict, std::size_t> count;
  std::vector<const CeilingComparison*> inconclusive;
  std::ptrdiff_t all = 0;
  std::size_t models = 0, base_faster = 0, next_faster = 0;
  for (const DeviceComparison& device : devices) {
    all += std::ssize(device.ceilings);
    for (const CeilingComparison& c : device.ceilings) {
      ++count[c.verdict];
      if (c.verdict == Verdict::kInconclusive) inconclusive.push_back(&c);
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
        std::pair{Verdict::kWithinModel, "within the model's scatter"},
        std::pair{Verdict::kNotJudged, "not judged"}}) {
    if (count[verdict] > 0) parts.push_back(fmt::format("{} {}", count[verdict], word));
  }
  if (models > 0) {
    parts.push_back(fmt::format("{} between different models (base faster in {}, new in {})",
                                models, base_faster, next_faster));
  }
  const std::string text =
      fmt::format("{}: {}", format_count(all, "ceiling"), fmt::join(parts, ", "));
  return hanging("", text, width) +
         (inconclusive.empty() ? std::string() : hanging("", advice(inconclusive), width));
}

// A line of its own below a row, so that the table keeps within the width.
void add_remark(TextTable& table, std::string_view text, std::size_t width) {
  constexpr std::size_t kIndent = 6;
  if (text.empty()) return;
  for (const std::string& line : wrapped(text, width - kIndent))
    table.heading(std::string(kIndent, ' ') + styled(Style::kDim, line));
}

std::string ceiling_table(const DeviceComparison& device, bool full, std::size_t width) {
  TextTable table({left(2), right(2), right(2), right(2), right(2), left(2)});
  table.row({"GB/s, TFLOP/s", "base", "new", "ratio", "±", "verdict"});
  std::ptrdiff_t same = 0;
  for (const CeilingComparison& c : device.ceilings) {
    if (!full && unchanged(c)) {
      ++same;
      continue;
    }
    table.row({ceiling_name(c.resource, c.basis), cell(c.base.value, c.unit),
               cell(c.next.value, c.unit), ratio(c.ratio), ratio((c.ratio_high - c.ratio_low) / 2),
               device.same_model ? verdict_cell(c.verdict) : winner(c)});
    if (!unchanged(c)) add_remark(table, explanation(c), width);
  }
  std::string text;
  if (std::ssize(device.ceilings) > same) text = table.render(width);
  if (same > 0) text += fmt::format("  {} unchanged\n", format_count(same, "ceiling"));
  return text;
}

// The points whose ratio differs from 1 by more than the threshold.
std::string changed_points(const CurveComparison& c) {
  const std::size_t n = c.part_end - c.part_begin;
  if (n == c.points.size()) return "all points";
  const std::string& first = c.points[c.part_begin].name;
  return n == 1 ? first : fmt::format("{} to {}", first, c.points[c.part_end - 1].name);
}

std::string curve_table(const DeviceComparison& device, std::size_t width) {
  // From this width on there is room for the ratio per clock.
  constexpr std::size_t kFullTable = 92;
  const auto fitting = [width]<class T>(std::vector<T> all) {
    return width < kFullTable ? without(std::move(all), 3, 1) : all;
  };
  TextTable table(
      fitting(std::vector{left(2), right(2), right(1), right(2), right(2), right(2), left(2)}));
  table.row(fitting(std::vector<std::string>{"curve (ratio of speeds)", "median", "±", "per clock",
                                             "lowest", "highest", "verdict"}));
  std::ptrdiff_t within = 0;
  for (const CurveComparison& c : device.curves) {
    const bool decided = c.verdict == Verdict::kSlower || c.verdict == Verdict::kFaster;
    if (c.part_begin == c.part_end && !decided) {
      ++within;
      continue;
    }
    const auto [lowest, highest] =
        std::ranges::minmax(c.points, {}, &CurveComparison::Point::ratio);
    table.row(fitting(
        std::vector{c.id, ratio(c.median_ratio), ratio((c.ratio_high - c.ratio_low) / 2),
                    c.median_ratio_per_clock ? ratio(*c.median_ratio_per_clock) : not_known(),
                    ratio(lowest.ratio), ratio(highest.ratio), verdict_cell(c.verdict)}));
    if (c.part_begin != c.part_end) {
      add_remark(table, "beyond the threshold: " + changed_points(c), width);
    }
  }
  std::string text;
  if (std::ssize(device.curves) > within) text = table.render(width);
  if (within > 0) text += fmt::format("  {} within the threshold\n", format_count(within, "curve"));
  return text;
}

std::string gate_text(const Gate& gate, std::size_t width) {
  const auto count = std::ranges::count(gate.reasons, false, &GateReason::allowed);
  std::string text = count == 0
                         ? styled(Style::kGreen, "gate: passed") + '\n'
                         : hanging("",
                                   styled(Style::kRed, "gate: failed") + ", " +
                                       format_count(count, "reason") + "; --allow NAME excuses one",
                                   width);
  for (const GateReason& reason : gate.reasons) {
    text += hanging("  ",
                    fmt::format("{}: {}{}: {}", reason.name, reason.allowed ? "allowed, " : "",
                                reason.code, reason.text),
                    width);
  }
  for (const std::string& name : gate.unused)
    text += hanging("  ", fmt::format("--allow {}: no reason has that name", name), width);
  return text;
}

std::string only_in(std::string_view side, const std::vector<std::string>& names,
                    std::size_t width) {
  if (names.empty()) return {};
  return hanging(fmt::format("  only in {}: ", side), fmt::format("{}", fmt::join(names, ", ")),
                 width);
}

std::string device_text(const DeviceComparison& device, bool full, std::size_t width) {
  std::string title = device.base_name;
  if (device.next_name != device.base_name) title += "  →  " + device.next_name;
  std::string text = '\n' + hanging("", styled(Style::kBold, title), width);
  if (!device.same_model) {
    text += "  different models: ratios only, no verdicts\n";
  } else if (device.shared_host()) {
    text += hanging("  ", "a virtual machine's neighbours use the host too: no verdicts", width);
  }
  if (device.untried) {
    text += hanging("  ", "the new mode measures less: what it leaves out is not missing", width);
  }
  text += ceiling_table(device, full, width) + curve_table(device, width);
  if (!device.differences.empty()) text += "  different conditions\n";
  for (const Difference& d : device.differences) {
    text += hanging("    " + pad_right(d.what, 22), fmt::format("{} → {}", d.base, d.next), width);
  }
  return text + only_in("base", device.only_base, width) + only_in("new", device.only_next, width);
}

}  // namespace

std::string explanation(const CeilingComparison& c) {
  if (c.method_changed) return "measurement method changed";
  std::vector<std::string> parts;
  if (c.verdict == Verdict::kWithinModel && c.between_cards)
    parts.push_back(fmt::format(
        "cards of the model {} by {:.1f} % ({})",
        c.assumed_from.empty() ? "scatter" : "are assumed to scatter", *c.between_cards * 100,
        c.assumed_from.empty() ? format_count(static_cast<std::int64_t>(c.cards), "card")
                               : fmt::format("twice as much as {}s", c.assumed_from)));
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

std::string compare_text(const CompareResult& result, const ShowOptions& options) {
  const std::size_t width = options.width;
  const bool full = result.devices.size() <= kPairsInFull;
  const auto profiles = [](std::size_t n) {
    return format_count(static_cast<std::int64_t>(n), "profile");
  };
  std::string text = styled(
      Style::kBold,
      fmt::format("base: {}, new: {}", profiles(result.base_runs), profiles(result.next_runs)));
  text += fmt::format("; changes below {:.1f} % do not count\n", result.threshold * 100);
  for (const DeviceComparison& device : result.devices) {
    const bool changed = !device.only_base.empty() || !device.only_next.empty() ||
                         !std::ranges::all_of(device.ceilings, unchanged);
    if (full || changed) text += device_text(device, full, width);
  }
  text += '\n' + only_in("base", result.only_base, width) + only_in("new", result.only_next, width);
  text += tally(result.devices, width) + gate_text(result.gate, width);
  return terminal_text(text, options.color);
}

}  // namespace peakline

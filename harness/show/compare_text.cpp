#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/core/comparison.hpp"
#include "harness/core/labels.hpp"
#include "harness/core/units.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/text_table.hpp"

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

std::string verdict_cell(const CeilingComparison& c) {
  if (c.verdict == Verdict::kNotJudged) {
    // Only what the intervals bear out is a win.
    return c.ratio_low > 1 ? "new faster" : c.ratio_high < 1 ? "base faster" : "close";
  }
  const std::string word(to_string(c.verdict));
  return c.verdict == Verdict::kFaster         ? styled(Style::kGreen, word)
         : c.verdict == Verdict::kSlower       ? styled(Style::kRed, word)
         : c.verdict == Verdict::kInconclusive ? styled(Style::kYellow, word)
                                               : word;
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

std::string tally(std::span<const DeviceComparison> devices) {
  std::map<Verdict, std::size_t> count;
  std::ptrdiff_t all = 0;
  std::size_t base_faster = 0, next_faster = 0;
  for (const DeviceComparison& device : devices) {
    all += std::ssize(device.ceilings);
    for (const CeilingComparison& c : device.ceilings) {
      ++count[c.verdict];
      if (c.verdict != Verdict::kNotJudged) continue;
      base_faster += c.ratio_high < 1;
      next_faster += c.ratio_low > 1;
    }
  }
  if (all == 0) return "no ceilings in common";
  std::vector<std::string> parts;
  for (const Verdict verdict :
       {Verdict::kSlower, Verdict::kFaster, Verdict::kInconclusive, Verdict::kSame}) {
    if (count[verdict] > 0)
      parts.push_back(fmt::format("{} {}", count[verdict], to_string(verdict)));
  }
  if (const std::size_t n = count[Verdict::kNotJudged]; n > 0) {
    parts.push_back(fmt::format("{} between different models (base faster in {}, new in {})", n,
                                base_faster, next_faster));
  }
  return fmt::format("{}: {}", format_count(all, "ceiling"), fmt::join(parts, ", "));
}

std::string ceiling_table(const DeviceComparison& device, bool full, std::size_t width) {
  TextTable table({left(2), left(1), right(2), right(2), right(2), right(2), left(2), left(2)});
  table.row({"", "", "base", "new", "ratio", "interval", "verdict", "explanation"});
  std::ptrdiff_t same = 0;
  for (const CeilingComparison& c : device.ceilings) {
    if (!full && unchanged(c)) {
      ++same;
      continue;
    }
    table.row({c.label.substr(0, c.label.find(" (")), basis_label(c.basis),
               cell(c.base.value, c.unit), cell(c.next.value, c.unit), ratio(c.ratio),
               ratio(c.ratio_low) + "…" + ratio(c.ratio_high), verdict_cell(c), explanation(c)});
  }
  std::string text;
  if (std::ssize(device.ceilings) > same) {
    text = styled(Style::kDim, "  memory and links in GB/s, compute in TFLOP/s") + '\n' +
           table.render(width);
  }
  if (same > 0) text += fmt::format("  {} unchanged\n", format_count(same, "ceiling"));
  return text;
}

// The points whose ratio differs from 1 by more than the threshold.
std::string changed_points(const CurveComparison& c) {
  const std::size_t n = c.part_end - c.part_begin;
  if (n == 0) return "none";
  if (n == c.points.size()) return "all";
  const std::string& first = c.points[c.part_begin].name;
  return n == 1 ? first : fmt::format("{} to {}", first, c.points[c.part_end - 1].name);
}

std::string curve_table(const DeviceComparison& device, bool full, std::size_t width) {
  TextTable table({left(2), right(2), right(2), right(2), right(2), right(2), left(2)});
  table.row({"curve (ratio of speeds)", "points", "median", "per clock", "lowest", "highest",
             "beyond the threshold"});
  bool any = false;
  for (const CurveComparison& c : device.curves) {
    if (!full && c.part_begin == c.part_end) continue;
    any = true;
    const auto [lowest, highest] =
        std::ranges::minmax(c.points, {}, &CurveComparison::Point::ratio);
    table.row({c.id, std::to_string(c.points.size()), ratio(c.median_ratio),
               c.median_ratio_per_clock ? ratio(*c.median_ratio_per_clock) : not_known(),
               ratio(lowest.ratio), ratio(highest.ratio), changed_points(c)});
  }
  return any ? table.render(width) : std::string();
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
  if (!device.same_model) text += "  different models: ratios only, no verdicts\n";
  text += ceiling_table(device, full, width) + curve_table(device, full, width);
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
  const auto width = static_cast<std::size_t>(std::max(options.width, 40));
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
  text += hanging("", tally(result.devices), width);
  return terminal_text(text, options.color);
}

}  // namespace peakline

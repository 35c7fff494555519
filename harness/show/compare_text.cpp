#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/core/comparison.hpp"
#include "harness/core/labels.hpp"
#include "harness/core/units.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/text_table.hpp"

namespace peakline {
namespace {

using Align = TextTable::Align;

// Beyond this many pairs of devices, only what changed is printed.
constexpr std::size_t kPairsInFull = 4;

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// Bandwidths in GB/s and FLOP/s in TFLOP/s, as `show` has them, whatever their size.
std::string cell(double value, std::string_view unit) {
  return format_number(value / (unit == "B/s" ? 1e9 : 1e12));
}

std::string verdict_cell(const CeilingComparison& c) {
  switch (c.verdict) {
    case Verdict::kFaster:
      return styled(Style::kGreen, "faster");
    case Verdict::kSlower:
      return styled(Style::kRed, "slower");
    case Verdict::kSame:
      return "same";
    case Verdict::kUndecided:
      return styled(Style::kYellow, "undecided");
    case Verdict::kNotJudged:
      // Only what the intervals bear out is a win.
      return c.ratio_low > 1 ? "new wins" : c.ratio_high < 1 ? "base wins" : "close";
  }
  return {};
}

bool unchanged(const CeilingComparison& c) { return c.verdict == Verdict::kSame; }

std::string tally(std::span<const DeviceComparison> devices) {
  std::map<Verdict, std::size_t> count;
  std::size_t base_wins = 0, next_wins = 0;
  for (const DeviceComparison& device : devices) {
    for (const CeilingComparison& c : device.ceilings) {
      ++count[c.verdict];
      if (c.verdict != Verdict::kNotJudged) continue;
      base_wins += c.ratio_high < 1;
      next_wins += c.ratio_low > 1;
    }
  }
  std::vector<std::string> parts;
  for (const Verdict verdict :
       {Verdict::kSlower, Verdict::kFaster, Verdict::kUndecided, Verdict::kSame}) {
    if (count[verdict] > 0)
      parts.push_back(fmt::format("{} {}", count[verdict], to_string(verdict)));
  }
  if (count[Verdict::kNotJudged] > 0) {
    parts.push_back(fmt::format("of {} between different models base wins {}, new wins {}",
                                count[Verdict::kNotJudged], base_wins, next_wins));
  }
  return parts.empty() ? std::string("no ceiling on both sides")
                       : "ceilings: " + fmt::format("{}", fmt::join(parts, ", "));
}

std::string ceiling_table(const DeviceComparison& device, bool full, std::size_t width) {
  TextTable table({{Align::kLeft, 2},
                   {Align::kLeft, 1},
                   {Align::kRight, 2},
                   {Align::kRight, 2},
                   {Align::kRight, 2},
                   {Align::kRight, 2},
                   {Align::kLeft, 2},
                   {Align::kLeft, 2}});
  table.row({"", "", "base", "new", "ratio", "interval", "verdict", "what moved with it"});
  std::size_t same = 0;
  for (const CeilingComparison& c : device.ceilings) {
    if (!full && unchanged(c)) {
      ++same;
      continue;
    }
    const std::string label = resource_label(c.resource);
    table.row({label.substr(0, label.find(" (")), basis_label(c.basis), cell(c.base.value, c.unit),
               cell(c.next.value, c.unit), fmt::format("{:.3f}", c.ratio),
               fmt::format("{:.3f}…{:.3f}", c.ratio_low, c.ratio_high), verdict_cell(c), c.why});
  }
  std::string text;
  if (device.ceilings.size() > same) {
    text = styled(Style::kDim, "  GB/s for memory and links, TFLOP/s for compute") + '\n' +
           table.render(width);
  }
  if (same > 0) text += fmt::format("  {} the same\n", counted(same, "ceiling"));
  return text;
}

std::string curve_table(const DeviceComparison& device, bool full, std::size_t width) {
  TextTable table({{Align::kLeft, 2},
                   {Align::kRight, 2},
                   {Align::kRight, 2},
                   {Align::kRight, 2},
                   {Align::kRight, 2},
                   {Align::kRight, 2},
                   {Align::kLeft, 2}});
  table.row({"curve, ratio of speed", "points", "median", "per clock", "lowest", "highest",
             "where they part"});
  bool any = false;
  for (const CurveComparison& c : device.curves) {
    const std::size_t parted = c.part_end - c.part_begin;
    if (!full && parted == 0) continue;
    any = true;
    const auto [lowest, highest] =
        std::ranges::minmax(c.points, {}, &CurveComparison::Point::ratio);
    std::string where = "nowhere";
    if (parted == c.points.size()) {
      where = "everywhere";
    } else if (parted == 1) {
      where = "at " + c.points[c.part_begin].name;
    } else if (parted > 1) {
      where = fmt::format("{} to {}", c.points[c.part_begin].name, c.points[c.part_end - 1].name);
    }
    table.row({c.id, std::to_string(c.points.size()), fmt::format("{:.3f}", c.median_ratio),
               c.median_ratio_per_clock ? fmt::format("{:.3f}", *c.median_ratio_per_clock)
                                        : std::string(kNotKnown),
               fmt::format("{:.3f}", lowest.ratio), fmt::format("{:.3f}", highest.ratio), where});
  }
  return any ? table.render(width) : std::string();
}

std::string one_sided(std::string_view side, const std::vector<std::string>& names,
                      std::size_t width) {
  if (names.empty()) return {};
  return hanging(fmt::format("  only in {}: ", side), fmt::format("{}", fmt::join(names, ", ")),
                 width);
}

}  // namespace

std::string compare_text(const CompareResult& result, const CompareTextOptions& options) {
  const auto width = static_cast<std::size_t>(std::max(options.width, 40));
  const bool full = result.devices.size() <= kPairsInFull;
  std::string text =
      styled(Style::kBold, fmt::format("base: {}, new: {}", counted(result.base_runs, "profile"),
                                       counted(result.next_runs, "profile")));
  text += fmt::format("; a change below {:.1f} % counts as none\n", result.threshold * 100);
  for (const DeviceComparison& device : result.devices) {
    const bool changed = !device.only_base.empty() || !device.only_next.empty() ||
                         !std::ranges::all_of(device.ceilings, unchanged);
    if (!full && !changed) continue;
    std::string title = device.base_name;
    if (device.next_name != device.base_name) title += "  →  " + device.next_name;
    text += '\n' + hanging("", styled(Style::kBold, title), width);
    if (!device.same_model) text += "  different models: ratios, and no verdict of regression\n";
    text += ceiling_table(device, full, width);
    text += curve_table(device, full, width);
    if (!device.differences.empty()) {
      text += "  what differs between the runs\n";
      for (const Difference& d : device.differences) {
        text +=
            hanging("    " + pad_right(d.what, 22), fmt::format("{} → {}", d.base, d.next), width);
      }
    }
    text += one_sided("base", device.only_base, width);
    text += one_sided("new", device.only_next, width);
  }
  text += '\n';
  text += one_sided("base", result.only_base, width);
  text += one_sided("new", result.only_next, width);
  text += hanging("", tally(result.devices), width);
  return terminal_text(text, options.color);
}

}  // namespace peakline

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/comparison.hpp"
#include "harness/show/compare.hpp"
#include "harness/show/table.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/resources.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Smaller changes of clock or power explain nothing.
constexpr double kConditionMoved = 0.01;
// Rates per clock this close are equal, within the errors of clock and rate.
constexpr double kSamePerClock = 0.02;

std::string ratio(double value) { return fmt::format("{:.3f}", value); }

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
    return ratio(*c.ratio_per_clock) + " per clock (chip or software)";
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
  std::ptrdiff_t by_runs = 0, by_threshold = 0;
  std::size_t runs = 0;  // a side, for `by_runs` of them
  double threshold = 0;
  std::vector<std::string> varying;  // by neither
};
Settling settling(const std::vector<const CeilingComparison*>& inconclusive) {
  // A higher threshold would hide real losses elsewhere.
  constexpr double kHighestThreshold = 0.05;
  Settling result;
  for (const CeilingComparison* c : inconclusive) {
    const double needed = c->threshold_to_settle.value_or(INFINITY);
    if (c->runs_to_settle) {
      ++result.by_runs;
      result.runs = std::max(result.runs, *c->runs_to_settle);
    } else if (needed <= kHighestThreshold) {
      ++result.by_threshold;
      result.threshold = std::max(result.threshold, needed);
    } else {
      const std::string name = to_string(FigureKey(*c));
      // Several GPUs may have it.
      if (std::ranges::find(result.varying, name) == result.varying.end())
        result.varying.push_back(name);
    }
  }
  return result;
}

std::string advice(const std::vector<const CeilingComparison*>& inconclusive) {
  const Settling settles = settling(inconclusive);
  std::vector<std::string> parts;
  if (settles.by_runs > 0) {
    parts.push_back(fmt::format("With {} runs a side, {} of the {} inconclusive could be settled.",
                                settles.runs, settles.by_runs, inconclusive.size()));
  }
  if (settles.by_threshold > 0) {
    parts.push_back(fmt::format("--threshold {:.1f} would settle {}{}.",
                                std::ceil(1000 * settles.threshold) / 10, settles.by_threshold,
                                settles.by_runs > 0 ? " more" : ""));
  }
  if (!settles.varying.empty())
    parts.push_back(fmt::format("{} {} too much from run to run.", shortened(settles.varying),
                                settles.varying.size() == 1 ? "varies" : "vary"));
  return joined(parts, " ");
}

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
  const std::string text =
      fmt::format("{}: {}", format_count(all, "ceiling"), fmt::join(parts, ", "));
  const std::vector<const CeilingComparison*> open = inconclusive(devices);
  return hanging("", text, width) +
         (open.empty() ? std::string() : hanging("", advice(open), width));
}

std::string ceiling_table(const DeviceComparison& device, bool all, std::size_t width) {
  Table table{.key = "ceilings", .label_head = "GB/s, TFLOP/s"};
  table.columns = {{.key = "base", .head = "base", .bare = true},
                   {.key = "new", .head = "new", .bare = true},
                   {.key = "ratio", .head = "ratio"},
                   {.key = "half_width", .head = "±", .dispensable = 1},
                   verdict_column()};
  for (const CeilingComparison& c : device.ceilings) {
    if (!all && device.same_model && !deviates(c.verdict)) continue;
    const std::string name = to_string(FigureKey(c));
    table.rows.push_back(
        {.key = name,
         .label = name,
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
    if (!deviates(c.verdict) && (together || !all)) {
      within += together;
      continue;
    }
    const auto [lowest, highest] =
        std::ranges::minmax(c.points, {}, &CurveComparison::Point::ratio);
    table.rows.push_back(
        {.key = c.id,
         .label = c.id,
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

std::string reasons_text(const Gate& gate, std::size_t width) {
  std::string text;
  for (const Judged& reason : gate.reasons) {
    if (reason.kind == RuleKind::kSlower && !reason.passes()) continue;  // in the tables
    text += hanging(
        "  ",
        fmt::format("{}: {}{}: {}", to_string(reason.name), reason.passes() ? "allowed, " : "",
                    to_string(reason.kind), describe(reason)),
        width);
  }
  for (const std::string& name : gate.unused)
    text += hanging("  ", fmt::format("--allow {}: no reason has that name", name), width);
  return text;
}

std::string only_in(std::string_view side, const std::vector<std::string>& names,
                    std::size_t width) {
  if (names.empty()) return {};
  return hanging(fmt::format("  only in {}: ", side), joined(names), width);
}

std::string device_text(const DeviceComparison& device, bool all, std::size_t width) {
  std::string notes, table = ceiling_table(device, all, width) + curve_table(device, all, width);
  if (!all && table.empty()) return {};
  if (!device.same_model) {
    notes = "  different models: ratios only, no verdicts\n";
  } else if (device.shared_host()) {
    notes = hanging("  ", "a virtual machine's neighbours use the host too: no verdicts", width);
  }
  if (device.untried)
    notes += hanging("  ", "the new mode measures less: what it leaves out is not missing", width);
  std::string title = device.base_name;
  if (device.next_name != device.base_name) title += "  →  " + device.next_name;
  std::string text = '\n' + hanging("", styled(Style::kBold, title), width) + notes + table;
  if (!device.differences.empty()) text += "  different conditions\n";
  for (const Difference& d : device.differences) {
    text += hanging("    " + pad_right(d.what, 22), fmt::format("{} → {}", d.base, d.next), width);
  }
  if (!all) return text;
  return text + only_in("base", device.only_base, width) + only_in("new", device.only_next, width);
}

// "PCIe both ways is too noisy to tell".
std::string too_noisy(const std::vector<const CeilingComparison*>& varying) {
  std::vector<std::string> labels;
  for (const CeilingComparison* c : varying) {
    const Resource* known = find_resource(c->resource);
    std::string label = ceiling_label(known ? known->label : c->resource, c->basis);
    if (std::ranges::find(labels, label) == labels.end()) labels.push_back(std::move(label));
  }
  return shortened(labels) + (labels.size() == 1 ? " is" : " are") + " too noisy to tell";
}

// The sides' names: of their files, where each has one.
std::pair<std::string, std::string> side_names(const CompareResult& result) {
  if (result.base_files.size() != 1 || result.next_files.size() != 1) return {"base", "new"};
  const std::string &base = result.base_files[0], &next = result.next_files[0];
  if (stem_of(base) == stem_of(next)) return {base, next};
  return {stem_of(base), stem_of(next)};
}

// Each judged figure once: "node8 is as fast as node7: 12 figures equal, 2 within 2.8 %; PCIe both
// ways is too noisy to tell".
std::string as_fast(const CompareResult& result) {
  std::int64_t equal = 0, as_cards = 0, within = 0;
  double loss = result.threshold;
  std::size_t runs = 0;
  std::vector<const CeilingComparison*> varying;
  for (const CeilingComparison* c : judged(result.devices)) {
    if (c->verdict == Verdict::kSame) {
      ++equal;
    } else if (c->verdict != Verdict::kInconclusive) {
      ++as_cards;
    } else if (settling({c}).varying.empty()) {
      ++within;
      loss = std::max(loss, 1 - c->ratio_low);
      runs = std::max(runs, c->runs_to_settle.value_or(0));
    } else {
      varying.push_back(c);
    }
  }
  if (equal + as_cards + within == 0)
    return varying.empty() ? "no figure could be judged" : too_noisy(varying);
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const std::string& how) {
    if (count > 0)
      parts.push_back((parts.empty() ? format_count(count, "figure") : std::to_string(count)) +
                      how);
  };
  add(equal, " equal");
  add(as_cards, " differ as cards do");
  add(within, fmt::format(" within {:.1f} %", std::ceil(1000 * loss - 1e-9) / 10));
  const auto [base, next] = side_names(result);
  std::string text = fmt::format("{} is as fast as {}: {}", next, base, fmt::join(parts, ", "));
  if (runs > 0) text += fmt::format(" ({} runs a side say more)", runs);
  return varying.empty() ? text : text + "; " + too_noisy(varying);
}

std::string first_line(const CompareResult& result, bool gate) {
  std::vector<std::string> kept;
  for (const std::string& file : result.kept_in) kept.push_back(file.substr(file.rfind('/') + 1));
  const std::string text =
      main_point(result) +
      (kept.empty() ? std::string() : fmt::format(" (with {})", fmt::join(kept, ", ")));
  if (gate)
    return verdict_line(result.gate.passed() ? Outcome::kPass : verdict(result.gate.reasons), text);
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
  if (found != nullptr)
    return fmt::format("{}: {}{}", to_string(found->name), describe(*found),
                       reasons > 1 ? fmt::format(", and {} more", reasons - 1) : "");
  if (verdict != "faster") return as_fast(result);
  const std::vector<const CeilingComparison*> all = judged(result.devices);
  const auto [base, next] = side_names(result);
  return fmt::format("{} is faster than {} in {} of {} by more than {:.1f} %, slower in none", next,
                     base, std::ranges::count(all, Verdict::kFaster, &CeilingComparison::verdict),
                     format_count(all.size(), "figure"), result.threshold * 100);
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
  text += reasons_text(result.gate, width);
  for (const DeviceComparison& device : result.devices)
    text += device_text(device, view.all, width);
  text += '\n' + only_in("base", result.only_base, width) + only_in("new", result.only_next, width);
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

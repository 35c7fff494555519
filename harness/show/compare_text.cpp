#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "harness/show/compare.hpp"
#include "harness/show/compare_device.hpp"
#include "harness/show/compare_fleet.hpp"
#include "harness/show/compare_sentence.hpp"
#include "harness/show/verdict_line.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Reasons of a fleet that are printed.
constexpr std::size_t kMostLines = 8;

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
  std::string text = fmt::format("{}: {}", format_count(all, "ceiling"), fmt::join(parts, ", "));
  if (const std::string curves = deviating_curves(devices); !curves.empty()) text += "; " + curves;
  const std::vector<const CeilingComparison*> open = inconclusive(devices);
  return hanging("", text, width) +
         (open.empty() ? std::string() : hanging("", advice(open), width));
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
  if (const auto [base_cards, next_cards] = pooled(result); base_cards + next_cards > 0)
    text +=
        hanging("",
                "The sides have no machine in common, so cards in the same slot are compared as "
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

#include "harness/judge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <string_view>
#include <utility>

#include "harness/judge/sides.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/cards.hpp"

namespace peakline {
namespace {

// Share of comparisons of a healthy machine with itself that may report anything as slower. Lower
// for curves, which are of many kinds and less well known.
constexpr double kFalseAlarmsOfComparisons = 0.01;
constexpr double kFalseAlarmsOfCurves = 0.001;
// Allow 0.1 % for a single slow run among several; the total hardly grows.
constexpr double kFalseAlarmsOfOneRun = 0.001;

std::string device_name(const Runs& runs) {
  const DeviceFacts* gpu = runs[0].facts;
  return gpu != nullptr ? fmt::format("GPU {} · {}", gpu->index, gpu->name)
                        : fmt::format("{} · {}", runs[0].name(), runs[0].model());
}

// The name has the machine, if there are several, and the card.
std::string full_name(const std::string& machine, const Runs& runs) {
  if (machine.empty()) return device_name(runs);
  const DeviceFacts* gpu = runs[0].facts;
  return fmt::format("{} {}{}", machine, runs[0].key(),
                     gpu != nullptr ? fmt::format(" ({})", short_uuid(gpu->uuid)) : "");
}

std::string card_of(const Runs& runs) {
  return runs[0].facts != nullptr ? short_uuid(runs[0].facts->uuid) : "";
}

bool virtual_machine(const Runs& runs) {
  return std::ranges::any_of(
      runs, [](const DeviceView& run) { return in_virtual_machine(run.profile->host); });
}

std::set<std::string_view> modes(const Runs& runs) {
  std::set<std::string_view> all;
  for (const DeviceView& run : runs) all.insert(run.profile->mode);
  return all;
}

// Judges all ceilings and curves together, as the threshold depends on their number.
void judge_all(std::vector<DeviceComparison>& devices, std::span<const ComparedFigure> ceilings,
               std::span<const ComparedFigure> curves, double threshold) {
  const auto assign = [](const ComparedFigure& figure, const Judgement& judgement, double& ratio,
                         auto& c) {
    ratio = judgement.ratio;
    c.ratio_low = judgement.ratio_low;
    c.ratio_high = judgement.ratio_high;
    c.verdict = figure.judged ? judgement.verdict : Verdict::kNotJudged;
  };
  const auto of_ceilings = judge(ceilings, threshold, kFalseAlarmsOfComparisons);
  const auto of_curves = judge(curves, threshold, kFalseAlarmsOfCurves);
  const auto slow = slow_runs(ceilings, threshold, kFalseAlarmsOfOneRun);
  std::size_t ceiling = 0, curve = 0;
  for (DeviceComparison& device : devices) {
    for (CeilingComparison& c : device.ceilings) {
      assign(ceilings[ceiling], of_ceilings[ceiling], c.ratio, c);
      c.slow_runs = slow[ceiling].count;
      c.slowest_run = slow[ceiling].slowest;
      c.believed_low = of_ceilings[ceiling].believed_low;
      c.runs_differ = of_ceilings[ceiling].runs_differ;
      c.runs_to_settle = of_ceilings[ceiling].runs_to_settle;
      c.threshold_to_settle = of_ceilings[ceiling++].threshold_to_settle;
      const bool scatters = c.base.excessive_scatter || c.next.excessive_scatter;
      if (c.verdict != Verdict::kSlower && (scatters || c.slow_runs > 0))
        c.verdict = Verdict::kUnsteady;
    }
    for (CurveComparison& c : device.curves) {
      c.runs_differ = of_curves[curve].runs_differ;
      assign(curves[curve], of_curves[curve], c.median_ratio, c);
      ++curve;
      if (c.verdict == Verdict::kSlower || c.verdict == Verdict::kNotJudged ||
          c.verdict == Verdict::kUneven)
        c.slow_part.reset();
      if (c.slow_part) c.verdict = Verdict::kSlower;
    }
  }
}

// Judges the new side by other cards of the model if the runs at hand differ too much.
void judge_uneven(const Runs& next, std::span<const Population> populations,
                  DeviceComparison& device) {
  for (const DeviceView& view : next) {
    if (view.facts == nullptr ||
        std::ranges::find(device.ceilings, Verdict::kUneven, &CeilingComparison::verdict) ==
            device.ceilings.end())
      continue;
    const CardRun run = card_run(view, "");
    const Known known = known_of(populations, populations, run.facts, run.mode);
    for (const RunFigure& figure : run.figures) {
      const auto c = std::ranges::find_if(device.ceilings, [&](const CeilingComparison& each) {
        return static_cast<const FigureKey&>(each) == figure;
      });
      if (figure.beside_siblings || c == device.ceilings.end() || c->verdict != Verdict::kUneven)
        continue;
      const Assessment found = judge(reading_of(figure, run.facts),
                                     yardsticks_for(known, run.facts, figure), run.figures.size());
      if (found.outcome == Outcome::kFail) c->verdict = Verdict::kSlower;
    }
  }
}

DeviceComparison compare_pair(const DevicePair& pair, const CompareOptions& options,
                              std::vector<ComparedFigure>& ceilings,
                              std::vector<ComparedFigure>& curves) {
  DeviceComparison device;
  device.key = pair.next[0].key();
  device.model = pair.next[0].model();
  device.base_card = card_of(pair.base);
  device.next_card = card_of(pair.next);
  device.base_cards = cards_of(pair.base).size();
  device.next_cards = cards_of(pair.next).size();
  device.base_name = device_name(pair.base);
  device.next_name = device_name(pair.next);
  device.same_model = other_model(pair) == nullptr;
  device.is_host = pair.base[0].is_host();
  device.virtual_machine = virtual_machine(pair.base) || virtual_machine(pair.next);
  const auto before = modes(pair.base), after = modes(pair.next);
  device.different_modes = before != after;
  device.untried = !std::ranges::includes(after, before);
  device.chosen = options.in_order;
  compare_ceilings(pair, options, device, ceilings);
  compare_curves(pair, options.threshold, options.populations, device, curves);
  compare_conditions(pair, device);
  return device;
}

std::vector<FleetShift> shifts_of(std::span<const DeviceComparison> devices, double threshold) {
  struct Ratios {
    std::string label;
    std::vector<double> all;
  };
  std::map<std::pair<std::string, FigureKey>, Ratios> figures;
  std::vector<std::pair<std::string, FigureKey>> order;
  for (const DeviceComparison& device : devices) {
    if (!device.is_gpu() || !device.judged()) continue;
    for (const CeilingComparison& c : device.ceilings) {
      if (c.verdict == Verdict::kNotJudged) continue;
      const std::pair key(device.model, FigureKey(c));
      const auto [found, added] = figures.try_emplace(key);
      if (added) order.push_back(key);
      found->second.label = c.label;
      found->second.all.push_back(c.ratio);
    }
  }
  std::vector<FleetShift> shifts;
  for (const auto& key : order) {
    const auto& [label, ratios] = figures.at(key);
    if (ratios.size() < kFewestShifted) continue;
    const Summary summary = summarize(ratios);
    const Verdict verdict = summary.ci_high < 1 - threshold  ? Verdict::kSlower
                            : summary.ci_low > 1 + threshold ? Verdict::kFaster
                            : summary.ci_low >= 1 - threshold && summary.ci_high <= 1 + threshold
                                ? Verdict::kSame
                                : Verdict::kInconclusive;
    shifts.push_back({key.second, key.first, label, ratios.size(), summary.median, summary.ci_low,
                      summary.ci_high, verdict});
  }
  return shifts;
}

// Adds what a machine's gate finds, under the machine's name.
void add_gate(const MachineSides& sides, std::span<const DeviceComparison> compared,
              std::span<const Population> populations, Gate& all) {
  Gate found = gate(sides, compared, populations);
  for (auto [from, to] :
       {std::pair(&found.reasons, &all.reasons), std::pair(&found.warnings, &all.warnings)}) {
    for (Judged& rule : *from) {
      rule.name.machine = sides.machine;
      to->push_back(std::move(rule));
    }
  }
}

// All cards of a model are slower, which the scatter of a single one may hide.
void add_shifts(std::span<const FleetShift> shifts, Gate& all) {
  for (const FleetShift& shift : shifts)
    if (shift.verdict == Verdict::kSlower)
      RulesOf(std::string(kFleetDevice), all.reasons)
          .add(RuleKind::kSlower, FigureKey(shift), Outcome::kFail,
               fmt::format("{:.3f} times as fast ({:.3f} to {:.3f}) in the median of {} cards",
                           shift.ratio, shift.ratio_low, shift.ratio_high, shift.cards));
}

void excuse(std::span<const std::string> names, Gate& gate) {
  Allowed excused(names);
  excused.excuse(gate.reasons);
  excused.excuse(gate.warnings);
  std::erase_if(gate.warnings,
                [](const Judged& rule) { return rule.outcome == Outcome::kExcused; });
  std::ranges::stable_sort(gate.warnings, more_severe);
  gate.unused = excused.unused();
}

}  // namespace

bool DeviceComparison::told_by_ceiling(const CurveComparison& curve) const {
  const std::string_view benchmark = std::string_view(curve.id).substr(0, curve.id.find('/'));
  return std::ranges::any_of(ceilings, [&](const CeilingComparison& c) {
    if (!c.benchmarks.contains(benchmark)) return false;
    if (curve.verdict == Verdict::kFaster)
      return c.verdict == Verdict::kFaster && curve.ratio_low <= c.ratio;
    return (c.verdict == Verdict::kSlower || c.verdict == Verdict::kUnsteady ||
            c.verdict == curve.verdict) &&
           (curve.slow_part ? curve.slow_part->ratio : curve.ratio_high) >= c.ratio;
  });
}

std::string_view CompareResult::verdict() const {
  const auto any_reason = [&](auto fits) {
    return std::ranges::any_of(gate.reasons,
                               [&](const Judged& r) { return !r.passes() && fits(r); });
  };
  const auto any_ceiling = [&](Verdict wanted) {
    return std::ranges::any_of(devices, [&](const DeviceComparison& device) {
      return std::ranges::find(device.ceilings, wanted, &CeilingComparison::verdict) !=
             device.ceilings.end();
    });
  };
  if (any_reason([](const Judged& r) { return r.kind == RuleKind::kSlower; })) return "slower";
  // A card that only the new side has can be unsteady too, which is no change.
  if (any_ceiling(Verdict::kUnsteady)) return "unsteady";
  if (any_reason([](const Judged& r) { return r.outcome == Outcome::kFail; })) return "different";
  if (any_reason([](const Judged&) { return true; })) return "cannot_judge";
  if (any_ceiling(Verdict::kFaster)) return "faster";
  return any_ceiling(Verdict::kSame) ? "same" : "cannot_judge";
}

std::optional<Lean> lean_of(std::span<const DeviceComparison> devices, double threshold) {
  constexpr double kCertain = 0.99;
  std::vector<double> ratios, cards;
  for (const DeviceComparison& device : devices)
    for (const CeilingComparison& c : device.ceilings)
      if (c.verdict == Verdict::kInconclusive && !c.too_noisy()) {
        ratios.push_back(c.ratio);
        cards.push_back(c.between_cards.value_or(0));
      }
  if (ratios.empty()) return std::nullopt;
  Lean lean = {.inconclusive = ratios.size(), .ratio = median(ratios)};
  lean.figures = static_cast<std::size_t>(std::ranges::count_if(
      ratios, [&](double ratio) { return lean.slower() ? ratio < 1 : ratio > 1; }));
  const std::size_t others = lean.inconclusive - lean.figures;
  // Two standard deviations of the difference between two cards.
  const double least = threshold / 2 + 2 * std::numbers::sqrt2 * median(cards);
  if (std::abs(lean.ratio - 1) < least || others >= lean.figures ||
      median_interval_coverage(lean.inconclusive, others + 1, lean.figures) < kCertain)
    return std::nullopt;
  return lean;
}

CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options) {
  CompareResult result;
  result.base_runs = base.size();
  result.next_runs = next.size();
  result.base_files.assign(options.base_files.begin(), options.base_files.end());
  result.next_files.assign(options.next_files.begin(), options.next_files.end());
  result.threshold = options.threshold;
  const std::vector<MachineSides> machines = pair_devices(base, next, options);
  std::vector<ComparedFigure> ceilings, curves;
  for (const MachineSides& sides : machines) {
    if (machines.size() > 1) result.machines.push_back(sides.machine);
    for (const DevicePair& pair : sides.pairs) {
      DeviceComparison device = compare_pair(pair, options, ceilings, curves);
      device.machine = sides.machine;
      if (pair.base_machine != sides.machine) device.moved_from = pair.base_machine;
      result.devices.push_back(std::move(device));
    }
  }
  judge_all(result.devices, ceilings, curves, options.threshold);
  result.lean = lean_of(result.devices, options.threshold);
  std::size_t device = 0;
  for (const MachineSides& sides : machines) {
    const std::size_t first = device;
    for (const DevicePair& pair : sides.pairs)
      judge_uneven(pair.next, options.populations, result.devices[device++]);
    for (const Runs& runs : sides.only_base)
      result.only_base.push_back(full_name(sides.machine, runs));
    for (const Runs& runs : sides.only_next)
      result.only_next.push_back(full_name(sides.machine, runs));
    add_gate(sides, std::span(result.devices).subspan(first, device - first), options.populations,
             result.gate);
  }
  if (machines.size() > 1) {
    result.shifts = shifts_of(result.devices, options.threshold);
    add_shifts(result.shifts, result.gate);
  }
  excuse(options.allowed, result.gate);
  const auto gpus = [](const std::vector<Runs>& devices) {
    return std::ranges::count_if(devices, [](const Runs& runs) { return !card_of(runs).empty(); });
  };
  result.cards =
      static_cast<std::size_t>(std::ranges::count_if(result.devices, &DeviceComparison::is_gpu));
  for (const MachineSides& sides : machines)
    result.cards += static_cast<std::size_t>(gpus(sides.only_base) + gpus(sides.only_next));
  return result;
}

}  // namespace peakline

#include "harness/judge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "harness/judge/sides.hpp"
#include "harness/judge/yardsticks.hpp"

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
      assign(curves[curve], of_curves[curve], c.median_ratio, c);
      ++curve;
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

}  // namespace

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
  for (const std::string_view code : {"slower", "unsteady"})
    if (any_reason([&](const Judged& r) { return to_string(r.kind) == code; })) return code;
  if (any_reason([](const Judged& r) { return r.outcome == Outcome::kFail; })) return "different";
  if (any_reason([](const Judged&) { return true; })) return "cannot_judge";
  if (any_ceiling(Verdict::kFaster)) return "faster";
  return any_ceiling(Verdict::kSame) ? "same" : "cannot_judge";
}

CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options) {
  CompareResult result;
  result.base_runs = base.size();
  result.next_runs = next.size();
  result.threshold = options.threshold;
  const PairedDevices devices = pair_devices(base, next, options.in_order);
  std::vector<ComparedFigure> ceilings, curves;
  for (const DevicePair& pair : devices.pairs) {
    DeviceComparison& device = result.devices.emplace_back();
    device.base_name = device_name(pair.base);
    device.next_name = device_name(pair.next);
    device.same_model = other_model(pair) == nullptr;
    device.is_host = pair.base[0].is_host();
    device.virtual_machine = virtual_machine(pair.base) || virtual_machine(pair.next);
    const auto before = modes(pair.base), after = modes(pair.next);
    device.different_modes = before != after;
    device.untried = !std::ranges::includes(after, before);
    compare_ceilings(pair, options, device, ceilings);
    compare_curves(pair, options.threshold, options.populations, device, curves);
    compare_conditions(pair, device);
  }
  judge_all(result.devices, ceilings, curves, options.threshold);
  for (std::size_t i = 0; i < devices.pairs.size(); ++i)
    judge_uneven(devices.pairs[i].next, options.populations, result.devices[i]);
  std::ranges::transform(devices.only_base, std::back_inserter(result.only_base), device_name);
  std::ranges::transform(devices.only_next, std::back_inserter(result.only_next), device_name);
  result.gate = gate(base, next, devices, result.devices, options.populations, options.allowed);
  return result;
}

}  // namespace peakline

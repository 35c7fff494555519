#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "harness/conclude/findings.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/judge/card_runs.hpp"
#include "harness/judge/sides.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// A ceiling in every run that has it.
struct CeilingRuns {
  std::vector<const Ceiling*> rows;
  std::vector<double> values;       // one per run, also within a profile (--runs)
  std::vector<double> half_widths;  // relative, of intervals within runs
  std::set<int> method_versions;
  std::set<std::string, std::less<>> benchmarks;
  std::optional<double> excessive_scatter;  // the largest
  const DeviceView* last_run = nullptr;
};

// One side's measured ceilings, in the order of its profiles.
struct SideCeilings {
  std::vector<FigureKey> order;
  std::map<FigureKey, CeilingRuns> runs;
};

SideCeilings ceilings_of(const Runs& runs) {
  SideCeilings all;
  for (const DeviceView& run : runs) {
    for (const Ceiling* row : run.ceilings) {
      if (row->measurement.empty() || row->value <= 0) continue;
      const auto [found, added] = all.runs.try_emplace({row->resource, row->basis});
      if (added) all.order.push_back(found->first);
      CeilingRuns& ceiling = found->second;
      // The first counts if a run has several.
      if (std::exchange(ceiling.last_run, &run) == &run) continue;
      ceiling.rows.push_back(row);
      ceiling.benchmarks.insert(row->measurement.substr(0, row->measurement.find('/')));
      // Other guests can make a link unsteady; that says nothing about the GPU.
      const OwnScatter own = own_scatter(run, *row);
      if (own.excessive &&
          (run.facts == nullptr ||
           !neighbours_may_slow(card_facts(run), row->resource, 1 - *own.excessive)))
        ceiling.excessive_scatter = std::max(ceiling.excessive_scatter, own.excessive);
      const Measurement* source = run.source(*row);
      if (source == nullptr) {
        ceiling.values.push_back(row->value);
        continue;
      }
      const bool several = source->sittings.size() > 1;
      for (const double value : several ? values_of_runs(*source) : std::vector{row->value})
        ceiling.values.push_back(value);
      ceiling.method_versions.insert(source->method_version);
      // The larger one, by samples or by sittings.
      double half_width = 0;
      if (const auto& s = source->summary; s && s->median > 0)
        half_width = (s->ci_high - s->ci_low) / 2 / s->median;
      ceiling.half_widths.push_back(std::max(half_width, kNormal95 * own.seen));
    }
  }
  return all;
}

// The limit on the clock in any of the runs.
std::string limit_of(const std::vector<const Ceiling*>& rows) {
  const auto any = [&](bool (*limited)(const Conditions&)) {
    return std::ranges::any_of(rows, [&](const Ceiling* row) { return limited(row->conditions); });
  };
  return any(thermally_limited) ? "heat" : any(power_capped) ? "power cap" : "";
}

SideValue side_value(const CeilingRuns& runs, const std::vector<double>& values) {
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  const auto n = values.size();
  return {.value = n == 1 ? values[0] : std::exp(logarithms / static_cast<double>(n)),
          .runs = n,
          .sm_clock_hz = median_of(runs.rows, &Conditions::sm_clock_hz),
          .power_w = median_of(runs.rows, &Conditions::power_w),
          .limit = limit_of(runs.rows),
          .excessive_scatter = runs.excessive_scatter};
}

// Whether the SM clock explains the rate in theory.
bool depends_on_clock(const DeviceView& run, const Ceiling& row) {
  const Ceiling* theory = run.ceiling(row.resource, Basis::kTheoretical);
  return theory != nullptr && theory->conditions.sm_clock_hz;
}

// Variance that wider intervals than usual, up to a width, add to the mean of runs.
double disturbance(const CeilingRuns& base, const CeilingRuns& next, double usual_half_width,
                   double widest) {
  double sum = 0;
  for (const CeilingRuns* side : {&base, &next}) {
    for (const double half_width : side->half_widths) {
      const double excess =
          std::max(0.0, std::min(half_width, widest) - usual_half_width) / kNormal95;
      sum += excess * excess;
    }
  }
  return sum / static_cast<double>(base.rows.size() + next.rows.size());
}

using FiguresTogether = std::map<FigureKey, std::pair<RunFigure, CeilingRuns>>;
FiguresTogether together_of(const Runs& runs) {
  FiguresTogether all;
  for (const DeviceView& run : runs) {
    for (const RunFigure& figure : figures_together(run)) {
      CeilingRuns& known = all.try_emplace(figure, figure, CeilingRuns()).first->second.second;
      known.values.push_back(figure.value);
      known.method_versions.insert(figure.method_version.value_or(0));
    }
  }
  return all;
}

void compare_together(const DevicePair& pair, const Site& site, DeviceComparison& out,
                      std::vector<ComparedFigure>& figures) {
  const FiguresTogether base = together_of(pair.base), next = together_of(pair.next);
  for (const auto& [key, entry] : base) {
    const auto found = next.find(key);
    if (found == next.end()) continue;
    const auto& [example, before] = entry;
    const CeilingRuns& after = found->second.second;
    CeilingComparison& c = out.ceilings.emplace_back();
    static_cast<FigureKey&>(c) = key;
    c.label = example.label;
    c.unit = example.unit;
    c.base = side_value(before, before.values);
    c.next = side_value(after, after.values);
    c.method_changed = before.method_versions != after.method_versions;
    const UsualSpread& usual = usual_spread(key.resource, key.basis, site);
    figures.push_back({.base = before.values,
                       .next = after.values,
                       .expected = &usual,
                       .widened = widened(pair.base[0]),
                       .offset = (out.different_modes ? usual.between_modes : 0) +
                                 (is_compute(c.unit) ? clock_offset(pair) : 0),
                       .judged = out.judged() && !c.method_changed});
  }
}

}  // namespace

std::optional<double> median_of(std::span<const Ceiling* const> rows,
                                std::optional<double> Conditions::*condition) {
  std::vector<double> known;
  for (const Ceiling* row : rows)
    if (const auto& value = row->conditions.*condition) known.push_back(*value);
  if (known.empty()) return std::nullopt;
  return median(known);
}

void compare_ceilings(const DevicePair& pair, const CompareOptions& options, DeviceComparison& out,
                      std::vector<ComparedFigure>& figures) {
  const DeviceView& first = pair.base[0];
  const bool cards = out.same_model && different_cards(pair);
  const SideCeilings base = ceilings_of(pair.base), next = ceilings_of(pair.next);
  for (const FigureKey& id : next.order) {
    if (!base.runs.contains(id)) out.only_next.push_back(to_string(id));
  }
  const Site site = {.is_host = out.is_host, .virtual_machine = out.virtual_machine};
  const ResourceLabels labels(*first.profile);
  for (const FigureKey& id : base.order) {
    const auto found = next.runs.find(id);
    if (found == next.runs.end()) {
      out.only_base.push_back(to_string(id));
      continue;
    }
    const CeilingRuns& before = base.runs.at(id);
    const CeilingRuns& after = found->second;
    ComparedFigure& figure = figures.emplace_back();
    figure.base = before.values;
    figure.next = after.values;
    figure.expected = &usual_spread(id.resource, id.basis, site);
    figure.widened = widened(first);
    if (first.facts != nullptr && out.judged())
      figure.kept =
          kept_spread(options.kept, card_facts(first), first.profile->mode, id.resource, id.basis);
    const double usual = figure.expected->usual_half_width;
    figure.disturbance = disturbance(before, after, usual, std::numeric_limits<double>::infinity());
    figure.believed_disturbance = disturbance(
        before, after, usual, kNormal95 * figure.widened * figure.expected->most_scatter);
    if (out.different_modes) figure.offset = figure.expected->between_modes;
    if (depends_on_clock(first, *before.rows[0])) figure.offset += clock_offset(pair);
    CeilingComparison& c = out.ceilings.emplace_back();
    static_cast<FigureKey&>(c) = id;
    c.label = labels(c);
    c.unit = before.rows[0]->unit;
    c.benchmarks = before.benchmarks;
    c.base = side_value(before, figure.base);
    c.next = side_value(after, figure.next);
    if (is_compute(c.unit) && c.base.sm_clock_hz.value_or(0) > 0 &&
        c.next.sm_clock_hz.value_or(0) > 0) {
      c.ratio_per_clock = c.next.value / c.base.value * *c.base.sm_clock_hz / *c.next.sm_clock_hz;
    }
    if (cards) {
      const CardScatter scatter = card_scatter(options.populations, card_facts(first),
                                               first.profile->mode, id.resource, id.basis);
      figure.between_cards = scatter.deviation;
      figure.cards = c.cards = scatter.cards;
      c.assumed_from = scatter.assumed_from;
      if (scatter.cards > 0) c.between_cards = scatter.deviation;
    }
    c.method_changed = before.method_versions != after.method_versions;
    figure.judged = out.judged() && !c.method_changed;
  }
  if (first.is_node()) compare_together(pair, site, out, figures);
}

}  // namespace peakline

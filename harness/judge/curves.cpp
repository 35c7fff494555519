#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "harness/judge/sides.hpp"
#include "harness/judge/yardsticks.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

struct PointValues {
  std::vector<double> values;
  std::vector<std::size_t> runs;  // each value's run
  std::vector<double> per_clock;  // compute rates with known clocks
};

struct Sweep {
  std::string unit;
  VariesWith varies = VariesWith::kDevice;
  std::vector<std::string> order;  // points
  std::map<std::string, PointValues> points;
};

// By name and method version, as methods are not comparable.
using Sweeps = std::map<std::pair<std::string, int>, Sweep>;

// A benchmark may have several sweeps, each named by its parameter: "gemm.bf16/data".
std::string sweep_of(const Measurement& m) {
  const bool named =
      m.params.size() == 1 && std::holds_alternative<std::string>(m.params.front().second);
  return named ? m.id + "/" + m.params.front().first : m.id;
}

// A GEMM size that a search chose is part of the point.
std::string point_of(const Measurement& m) {
  const std::string name = m.name();
  std::string point = name.size() > m.id.size() ? name.substr(m.id.size() + 1) : std::string();
  if (const auto n = int_param(m.launch, "n")) point += "/n:" + std::to_string(*n);
  return point;
}

// Excludes points that stand only for a ceiling: those with a load, and a benchmark's only point.
bool in_sweep(const MeasuredPoint& point,
              const std::unordered_set<std::string_view>& behind_ceilings) {
  const Measurement& m = *point.what;
  const bool alone = m.params.empty() || find_param(m.params, "load") != nullptr;
  return point.sound && !(alone && behind_ceilings.contains(m.name()));
}

Sweeps sweeps_of(const Runs& runs) {
  Sweeps sweeps;
  // Packed profiles share measurements, so make their names once.
  std::unordered_map<const Measurement*, std::pair<Sweep*, PointValues*>> places;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const DeviceView& run = runs[i];
    std::unordered_set<std::string_view> behind_ceilings;
    for (const Ceiling* ceiling : run.ceilings) behind_ceilings.insert(ceiling->measurement);
    for (const MeasuredPoint& point : *run.points) {
      if (!in_sweep(point, behind_ceilings)) continue;
      auto& [sweep, values] = places[point.what];
      if (sweep == nullptr) {
        const Measurement& m = *point.what;
        sweep = &sweeps[{sweep_of(m), m.method_version}];
        const auto [found, added] = sweep->points.try_emplace(point_of(m));
        if (added) sweep->order.push_back(found->first);
        sweep->unit = m.unit;
        sweep->varies = std::max(sweep->varies, m.varies_with);
        values = &found->second;
      }
      values->values.push_back(point.value);
      values->runs.push_back(i);
      if (is_compute(sweep->unit) && point.sm_clock_hz.value_or(0) > 0)
        values->per_clock.push_back(point.value / *point.sm_clock_hz);
    }
  }
  return sweeps;
}

void find_divergence(CurveComparison& curve, double threshold) {
  const auto side = [&](const CurveComparison::Point& point) {
    return point.ratio > 1 + threshold ? 1 : point.ratio < 1 - threshold ? -1 : 0;
  };
  const auto& points = curve.points;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const int direction = side(points[begin]);
    while (end < points.size() && side(points[end]) == direction) ++end;
    const bool longer = !curve.changed || end - begin > curve.changed->end - curve.changed->begin;
    if (direction != 0 && longer) curve.changed = {.begin = begin, .end = end};
  }
}

// Neighbouring points that are slow together in all new runs, where the CPU takes no part: of 254
// comparisons of healthy H100s and H200s none has three, and 48 have where the CPU does.
constexpr double kSlowPart = 0.67;
constexpr std::size_t kFewestSlow = 4;

// highest: of each point, the fastest new run over the slowest old one.
void find_slow_part(CurveComparison& curve, const std::vector<double>& highest, double threshold) {
  const double limit = std::min(kSlowPart, 1 - threshold);
  std::size_t longest = kFewestSlow - 1;
  for (std::size_t begin = 0, end = 0; begin < highest.size(); begin = std::max(end, begin + 1)) {
    for (end = begin; end < highest.size() && highest[end] <= limit;) ++end;
    if (end - begin <= longest) continue;
    longest = end - begin;
    std::vector<double> ratios;
    for (std::size_t i = begin; i < end; ++i) ratios.push_back(curve.points[i].ratio);
    curve.slow_part = {.begin = begin, .end = end, .ratio = median(ratios)};
  }
}

// Each run's median speed over points, as a share of `reference`.
class RunSpeeds {
 public:
  void add(const PointValues& point, double reference, bool is_time) {
    for (std::size_t i = 0; i < point.values.size(); ++i) {
      const double share = point.values[i] / reference;
      by_run_[point.runs[i]].push_back(is_time ? 1 / share : share);
    }
  }
  std::vector<double> medians() const {
    std::vector<double> all;
    for (const auto& [run, speeds] : by_run_) all.push_back(median(speeds));
    return all;
  }

 private:
  std::map<std::size_t, std::vector<double>> by_run_;
};

// A host of another size may launch at half or twice the speed: an empty kernel takes 2.2 to 2.7 us
// with the 16 CPUs of a machine of one GPU, and 1.2 to 1.9 us with those of two or four (40 H100s
// and H200s).
constexpr double kOtherHost = 0.5;

bool hosts_differ(const DevicePair& pair) {
  const auto threads = [](const Runs& runs) {
    std::set<int> known;
    for (const DeviceView& run : runs)
      if (const auto& count = run.profile->host.usable_threads) known.insert(*count);
    return known;
  };
  const std::set<int> before = threads(pair.base), after = threads(pair.next);
  return !before.empty() && !after.empty() && before != after;
}

// How far a pair's curves may differ.
struct Expected {
  CardScatter scatter = {};
  double widening, clocks;  // widened and offset of ComparedFigure
  bool hosts_differ;

  double offset(VariesWith varies, std::string_view unit) const {
    if (hosts_differ && varies == VariesWith::kLaunches) return kOtherHost;
    return unit == unit_of(Quantity::kByteRate) ? 0 : clocks;
  }
};

// Appends nothing without common points.
void compare_sweep(const std::string& id, const Sweep& base, const Sweep& next, double threshold,
                   const Expected& expected, DeviceComparison& out,
                   std::vector<ComparedFigure>& figures) {
  CurveComparison c;
  c.id = id;
  c.unit = base.unit;
  const bool is_time = base.unit == "s";
  std::vector<double> per_clock, highest;
  RunSpeeds base_speeds, next_speeds;
  for (const std::string& name : base.order) {
    const auto found = next.points.find(name);
    if (found == next.points.end()) continue;
    const PointValues& before = base.points.at(name);
    const PointValues& after = found->second;
    // As the judgement averages runs.
    const double a = geometric_mean(before.values), b = geometric_mean(after.values);
    c.points.push_back({name, is_time ? a / b : b / a, a, b});
    const auto [least_before, most_before] = std::ranges::minmax(before.values);
    const auto [least_after, most_after] = std::ranges::minmax(after.values);
    highest.push_back(is_time ? most_before / least_after : most_after / least_before);
    base_speeds.add(before, a, is_time);
    next_speeds.add(after, a, is_time);
    if (!before.per_clock.empty() && !after.per_clock.empty()) {
      per_clock.push_back(median(after.per_clock) / median(before.per_clock));
    }
  }
  if (c.points.empty()) return;
  if (per_clock.size() == c.points.size()) c.median_ratio_per_clock = median(per_clock);
  find_divergence(c, threshold);
  const VariesWith varies = std::max(base.varies, next.varies);
  if (varies <= VariesWith::kSearch && !out.is_host) find_slow_part(c, highest, threshold);
  figures.push_back({.base = base_speeds.medians(),
                     .next = next_speeds.medians(),
                     .expected = &usual_curve_spread(varies, out.virtual_machine),
                     .widened = expected.widening,
                     .offset = expected.offset(varies, base.unit),
                     .between_cards = expected.scatter.deviation,
                     .cards = expected.scatter.cards,
                     .judged = out.judged()});
  out.curves.push_back(std::move(c));
}

// A sweep that the other side lacks: its id, and its method if the other side has another.
std::string name_of(const Sweeps::key_type& key, const Sweeps& other) {
  const bool by_another =
      std::ranges::any_of(other, [&](const auto& entry) { return entry.first.first == key.first; });
  return by_another ? fmt::format("{} by method {}", key.first, key.second) : key.first;
}

}  // namespace

void compare_curves(const DevicePair& pair, double threshold,
                    std::span<const Population> populations, DeviceComparison& out,
                    std::vector<ComparedFigure>& figures) {
  // Populations have no curves: use their ceilings' widest scatter.
  Expected expected{.widening = widened(pair.base[0]),
                    .clocks = clock_offset(pair),
                    .hosts_differ = hosts_differ(pair)};
  if (out.same_model && different_cards(pair))
    expected.scatter =
        card_scatter(populations, card_facts(pair.base[0]), pair.base[0].profile->mode);
  const Sweeps base = sweeps_of(pair.base), next = sweeps_of(pair.next);
  for (const auto& [key, sweep] : next) {
    if (!base.contains(key)) out.only_next.push_back(name_of(key, base));
  }
  const auto add_unmatched = [](const std::string& id, const Sweep& sweep, const Sweep& other,
                                std::vector<std::string>& only) {
    const auto points = std::ranges::count_if(
        sweep.order, [&](const std::string& name) { return !other.points.contains(name); });
    if (points > 0) only.push_back(id + " (" + format_count(points, "point") + ')');
  };
  for (const auto& [key, sweep] : base) {
    const auto found = next.find(key);
    if (found == next.end()) {
      out.only_base.push_back(name_of(key, next));
      continue;
    }
    compare_sweep(key.first, sweep, found->second, threshold, expected, out, figures);
    add_unmatched(key.first, sweep, found->second, out.only_base);
    add_unmatched(key.first, found->second, sweep, out.only_next);
  }
}

}  // namespace peakline

#include "harness/conclude/sittings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/hardware/usual_spread.hpp"
#include "harness/statistics/sampling.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline {
namespace {

// Sittings that differ by more standard errors differ by more than chance: 0.4 % of Student's t for
// twice five blocks (6 % for a quick run's twice two).
constexpr double kUnexplained = 4;

// A shift widens the interval through `within` and `sittings`. Up to twice the usual interval that
// suffices; more is not the class's spread.
constexpr double kTolerated = 2;

using Blocks = std::span<const double>;

double square(double x) { return x * x; }

// Variance of the mean, relative to it; 0 for a single value.
double variance_of_mean(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto n = static_cast<double>(values.size());
  const double center = mean(values);
  double squares = 0;
  for (const double v : values) squares += square(v / center - 1);
  return squares / (n - 1) / n;
}

// Blocks by run and sitting.
std::vector<std::vector<Blocks>> blocks_of(const Measurement& m) {
  const Blocks all(m.samples_s);
  if (m.sittings.empty()) return {{all}};
  std::vector<std::vector<Blocks>> runs;
  std::size_t begin = 0;
  for (const auto& sittings : m.sittings) {
    auto& run = runs.emplace_back();
    for (const std::int64_t count : sittings) {
      run.push_back(all.subspan(begin, static_cast<std::size_t>(count)));
      begin += static_cast<std::size_t>(count);
    }
  }
  return runs;
}

// Joins neighbours, from first to last.
Blocks joined(const std::vector<Blocks>& sittings) {
  return {sittings.front().data(), sittings.back().data() + sittings.back().size()};
}

// Other users slow most samples; the fastest of each sitting are the signal.
bool counts_fastest(const Measurement& m) { return m.estimate == Estimate::kFastestTenth; }

bool differ(const Measurement& m, Blocks a, Blocks b, double tolerance) {
  const double difference = std::abs(estimated(a, m.estimate) / estimated(b, m.estimate) - 1);
  if (counts_fastest(m)) return difference > tolerance;
  return difference > tolerance &&
         difference > kUnexplained * std::hypot(standard_error(a), standard_error(b));
}

bool sittings_vary(const Measurement& m, double tolerance) {
  return std::ranges::any_of(blocks_of(m), [&](const std::vector<Blocks>& sittings) {
    if (sittings.size() < 2) return false;
    for (std::size_t i = 0; i < sittings.size(); ++i)
      for (std::size_t j = i + 1; j < sittings.size(); ++j)
        if (differ(m, sittings[i], sittings[j], tolerance)) return true;
    if (counts_fastest(m)) return false;
    return varies(joined(sittings), tolerance) || drifts(sittings, tolerance);
  });
}

// value = amount / time for rates; 0 for times.
double amount_of(const Measurement& m) {
  return m.unit == unit_of(Quantity::kTime) ? 0 : *m.value * estimated(m.samples_s, m.estimate);
}

std::optional<double> mean_of_known(const std::vector<const Measurement*>& visits,
                                    std::optional<double> Conditions::*figure) {
  std::vector<double> known;
  for (const Measurement* m : visits)
    if (m->conditions.*figure) known.push_back(*(m->conditions.*figure));
  return known.empty() ? std::nullopt : std::optional(mean(known));
}

Conditions merged_conditions(const std::vector<const Measurement*>& visits) {
  Conditions all = visits.front()->conditions;
  for (auto figure :
       {&Conditions::sm_clock_hz, &Conditions::memory_clock_hz, &Conditions::power_w,
        &Conditions::temperature_c, &Conditions::utilization, &Conditions::power_cap_share}) {
    all.*figure = mean_of_known(visits, figure);
  }
  for (const Measurement* m : visits) {
    if (!all.sm_clock_source) all.sm_clock_source = m->conditions.sm_clock_source;
    if (!all.pcie_generation) all.pcie_generation = m->conditions.pcie_generation;
    if (!all.pcie_width) all.pcie_width = m->conditions.pcie_width;
    for (const std::string& reason : m->conditions.throttle_reasons) {
      if (std::ranges::find(all.throttle_reasons, reason) == all.throttle_reasons.end())
        all.throttle_reasons.push_back(reason);
    }
  }
  return all;
}

// Merges sittings' facts: counts and "stop" cover all, the rest is the first's; wrong results keep
// facts of the sitting that found them.
LaunchFacts merged_launch(const std::vector<const Measurement*>& visits) {
  constexpr std::array<std::string_view, 4> kOfAll = {"samples", "stop", "compared_words",
                                                      "differing_words"};
  LaunchFacts all = visits.front()->launch;
  for (auto& [name, value] : all) {
    if (std::ranges::find(kOfAll, name) == kOfAll.end()) continue;
    for (std::size_t i = 1; i < visits.size(); ++i) {
      const ParamValue* other = find_param(visits[i]->launch, name);
      if (other == nullptr || other->index() != value.index()) continue;
      if (auto* count = std::get_if<std::int64_t>(&value))
        *count += std::get<std::int64_t>(*other);
      else if (std::get<std::string>(value) == to_string(StopReason::kPrecise))
        value = *other;
    }
  }
  const auto wrong = std::ranges::find(visits, std::optional(false), &Measurement::verified);
  if (wrong != visits.end())
    for (const auto& [name, value] : (*wrong)->launch)
      if (find_param(all, name) == nullptr) all.emplace_back(name, value);
  return all;
}

// Blocks of all visits, in seconds per launch of the first one's work.
void join_blocks(const Visits& visits, std::size_t count, Measurement& all) {
  const double amount = amount_of(all);
  // Each visit gets a share of the record's blocks.
  const std::size_t most = std::max<std::size_t>(1, kMaxSamples / count);
  all.samples_s.clear();
  all.sittings.clear();
  for (const auto& run : visits) {
    std::vector<std::int64_t> sittings;
    for (const Measurement& m : run) {
      if (m.status != Status::kOk) continue;
      const std::size_t blocks_of_visit = std::min(most, m.samples_s.size());
      // A median would jump between clocks.
      const bool means = all.estimate == Estimate::kTrimmedMean || all.estimate == Estimate::kMean;
      const std::vector<double> blocks = means ? block_means(m.samples_s, blocks_of_visit)
                                               : block_medians(m.samples_s, blocks_of_visit);
      const double scale = amount > 0 ? amount / amount_of(m) : 1;
      for (const double block : blocks) all.samples_s.push_back(block * scale);
      sittings.push_back(static_cast<std::int64_t>(blocks.size()));
    }
    if (!sittings.empty()) all.sittings.push_back(std::move(sittings));
  }
  all.summary = summarize(all.samples_s);
  const double time_s = estimated(all.samples_s, all.estimate);
  all.value = amount > 0 ? amount / time_s : time_s;
}

// Half of the largest relative step between values before and after any moment. Blocks are times.
double step_within(Blocks blocks) {
  constexpr std::size_t kFewestOfPart = 2;
  double largest = 0;
  for (std::size_t k = kFewestOfPart; k + kFewestOfPart <= blocks.size(); ++k)
    largest = std::max(largest, std::abs(mean(blocks.first(k)) / mean(blocks.subspan(k)) - 1) / 2);
  return largest;
}

// Half of the relative step between the fastest samples of the slowest and fastest sitting.
double step_between(const std::vector<Blocks>& sittings, Estimate estimate) {
  std::vector<double> times;
  for (const Blocks blocks : sittings) times.push_back(estimated(blocks, estimate));
  const auto [fastest, slowest] = std::ranges::minmax(times);
  return (slowest / fastest - 1) / 2;
}

// Steps that the spread of sittings hides.
std::optional<double> step_of(const Measurement& m) {
  std::optional<double> step;
  for (const std::vector<Blocks>& sittings : blocks_of(m)) {
    if (sittings.size() == 1)
      step = std::max(step, std::optional(step_within(sittings[0])));
    else if (counts_fastest(m))
      step = std::max(step, std::optional(step_between(sittings, m.estimate)));
  }
  return step;
}

// Weight of the class's spread against the runs at hand.
std::size_t class_degrees(const RunSpread& spread) {
  return spread.assumed_from.empty() ? kClassDegrees : kAssumedDegrees;
}

}  // namespace

const CeilingRule* planned_ceiling(const Benchmark& benchmark, const Point& point) {
  Measurement planned = unmeasured(benchmark, point);
  planned.status = Status::kSkipped;  // work is still unknown
  const auto rules = ceiling_rules(Benchmarks(&benchmark, 1), planned, nullptr);
  return rules.empty() ? nullptr : rules.front();
}

std::size_t sittings_of(const Benchmark& benchmark, const Point& point) {
  const bool long_burst = point.timing == Timing::kLongBurst;
  const bool one_of_several =
      point.timing == Timing::kFull || point.timing == Timing::kBurst || long_burst;
  if (!one_of_several || planned_ceiling(benchmark, point) == nullptr) return 1;
  return long_burst ? kLongBurstSittings : kSittings;
}

double tolerated_shift(const Benchmark& benchmark, const Point& point) {
  const CeilingRule* rule = planned_ceiling(benchmark, point);
  // As without neighbours, so that a shared host's variation shows. Points behind no ceiling are
  // times on the host, or brief curve points.
  const Site site = {.is_host = rule == nullptr || point.phase == Phase::kHost};
  const UsualSpread& usual = usual_spread(rule == nullptr ? "" : rule->resource.name,
                                          rule == nullptr ? Basis::kMeasured : rule->basis, site);
  RunSpread spread;
  spread.runs = usual.run_to_run;
  return kTolerated * next_run_half_width(spread);
}

Measurement merged(const Visits& visits, double tolerance) {
  std::vector<const Measurement*> ok;
  const Measurement *failed = nullptr, *first = nullptr;
  double duration_s = 0;
  for (const auto& run : visits) {
    for (const Measurement& m : run) {
      duration_s += m.duration_s;
      if (first == nullptr) first = &m;
      if (m.status == Status::kOk) ok.push_back(&m);
      if (m.status == Status::kError && failed == nullptr) failed = &m;
    }
  }
  if (first == nullptr) throw std::invalid_argument("merged: no visits");
  Measurement all = failed != nullptr ? *failed : ok.empty() ? *first : *ok.front();
  all.duration_s = duration_s;
  if (failed != nullptr || ok.size() < 2) return all;

  const bool of_fastest = counts_fastest(all) && visits.front().size() > 1;
  if (of_fastest) all.flags.unstable = false;
  all.launch = merged_launch(ok);
  all.conditions = merged_conditions(ok);
  for (const Measurement* m : ok) {
    all.flags.implausible |= m->flags.implausible;
    all.flags.unstable |= m->flags.unstable && !of_fastest;
    all.flags.throttled |= m->flags.throttled;
    if (!m->verified || !*m->verified) all.verified = all.verified == false ? false : m->verified;
    if (all.reason.find(m->reason) == std::string::npos)
      all.reason += (all.reason.empty() ? "" : "; ") + m->reason;
  }
  join_blocks(visits, ok.size(), all);
  all.flags.unstable |= sittings_vary(all, tolerance);
  return all;
}

std::vector<double> values_of_runs(const Measurement& m) {
  if (m.sittings.size() < 2 || m.samples_s.empty()) return {m.value.value_or(0)};
  const double amount = amount_of(m);
  std::vector<double> values;
  for (const std::vector<Blocks>& sittings : blocks_of(m)) {
    const double time_s = estimated(joined(sittings), m.estimate);
    values.push_back(amount > 0 ? amount / time_s : time_s);
  }
  return values;
}

RunSpread spread_of(const Measurement& m, double usual, std::string assumed_from,
                    const KeptSpread& kept) {
  RunSpread spread;
  spread.kept_degrees = static_cast<std::int64_t>(kept.degrees);
  if (!assumed_from.empty()) usual *= kWiderWhereAssumed;
  spread.assumed_from = std::move(assumed_from);
  const auto of_class = static_cast<double>(class_degrees(spread)),
             of_kept = static_cast<double>(kept.degrees);
  const double squares_of_known = of_class * square(usual) + of_kept * square(kept.deviation);
  if (m.samples_s.empty()) {
    spread.runs = std::sqrt(squares_of_known / (of_class + of_kept));
    // Two standard errors are half of the interval.
    if (m.summary) spread.within = (m.summary->ci_high - m.summary->ci_low) / 4 / m.summary->median;
    return spread;
  }
  double within = 0, between = 0;
  bool several = false;
  std::vector<double> run_values;
  const auto runs = blocks_of(m);
  for (std::vector<Blocks> sittings : runs) {
    // The fastest blocks count, from any sitting.
    if (counts_fastest(m)) sittings = {joined(sittings)};
    std::vector<double> times;
    double squares = 0;
    for (const Blocks blocks : sittings) {
      times.push_back(estimated(blocks, m.estimate));
      squares += square(uncertainty(blocks, m.estimate));
    }
    const auto count = static_cast<double>(sittings.size());
    within += squares / square(count);
    between += variance_of_mean(times);
    several |= sittings.size() > 1;
    run_values.push_back(estimated(joined(sittings), m.estimate));
  }
  const auto count = static_cast<double>(runs.size());
  const double own_degrees = count - 1;
  spread.within = std::sqrt(within / count);
  if (several) spread.sittings = std::sqrt(between / count);
  spread.runs = std::sqrt((squares_of_known + own_degrees * count * variance_of_mean(run_values)) /
                          (of_class + of_kept + own_degrees));
  spread.step = step_of(m);
  if (runs.size() > 1) spread.runs_measured = static_cast<std::int64_t>(runs.size());
  return spread;
}

double next_run_half_width(const RunSpread& spread) {
  const auto runs = static_cast<double>(std::max<std::int64_t>(1, spread.runs_measured));
  const double deviation = std::hypot(spread.runs, spread.within, spread.sittings.value_or(0));
  // The value is a mean of several runs, the next one a single run.
  constexpr double kTail = 0.025;
  const auto degrees = class_degrees(spread) + static_cast<std::size_t>(spread.kept_degrees) +
                       static_cast<std::size_t>(runs) - 1;
  return student_quantile(kTail, degrees) * std::sqrt(1 + 1 / runs) * deviation;
}

}  // namespace peakline

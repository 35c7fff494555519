// Findings on measurements that failed, were skipped, cannot be right, or vary too much.

#include <fmt/format.h>

#include <set>

#include "harness/conclude/findings.hpp"
#include "harness/conclude/findings/subjects.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/point_names.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Half width that a quick run aims for; wider intervals overlap neighbouring ceilings.
constexpr double kNoisyHalfWidth = 0.02;

// Names of measurements with a common fault, and evidence for each.
struct Faulty {
  std::vector<std::string> names;
  Evidence evidence;

  void add(const Measurement& m, std::string why) {
    names.push_back(name_of_point(m));
    evidence.emplace_back(m.name(), std::move(why));
  }
  // message: a format with places for number and names.
  void report(const char* code, Severity severity,
              fmt::format_string<std::string, std::string> message, Collector& out) && {
    if (names.empty()) return;
    out.add(code, severity,
            fmt::format(message, format_count(std::ssize(names), "measurement"), shortened(names)),
            std::move(evidence));
  }
};

std::string implausible_by(const Measurement& m, const DeviceFacts* gpu, Benchmarks benchmarks) {
  const Benchmark* benchmark = find_benchmark(benchmarks, m.id);
  const auto limit =
      gpu == nullptr || benchmark == nullptr ? std::nullopt : plausible_limit(*benchmark, m, *gpu);
  const auto figure = [&](const std::optional<double>& value) {
    return value ? format_value(*value, m.unit) : std::string(kNotKnown);
  };
  return fmt::format("{} measured, {} possible", figure(m.value), figure(limit));
}

void unsound(const DeviceView& device, Benchmarks benchmarks, Collector& out) {
  Faulty wrong, implausible;
  for (const Measurement* m : device.measurements) {
    if (m->status != Status::kOk) continue;
    if (m->verified == false && !compares_results(*m))
      wrong.add(*m, "does not match its reference");
    if (m->flags.implausible) implausible.add(*m, implausible_by(*m, device.facts, benchmarks));
  }
  std::move(wrong).report("unverified", Severity::kError,
                          "Wrong results in {}, excluded from the ceilings: {}.", out);
  std::move(implausible)
      .report("implausible", Severity::kWarning,
              "Rates above what the hardware can do in {}, excluded from the ceilings: {}.", out);
}

void never_run(const DeviceView& device, Benchmarks benchmarks, Collector& out) {
  Faulty untried;
  for (const Measurement* m : device.measurements) {
    const Benchmark* benchmark = find_benchmark(benchmarks, m->id);
    if (m->status == Status::kOk && m->value && benchmark != nullptr && benchmark->never_run)
      untried.add(*m, format_value(*m->value, m->unit));
  }
  std::move(untried).report(
      "never_run", Severity::kInfo,
      "{} came from code that had never run on hardware: {}. Check these figures "
      "against another source before you rely on them.",
      out);
}

// One per benchmark and reason, not per point.
void unsupported(const DeviceView& device, Collector& out) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::string> names;
  Evidence evidence;
  for (const Measurement* m : device.measurements) {
    if (m->status != Status::kSkipped || !seen.emplace(m->id, m->reason).second) continue;
    // All reasons of a benchmark are under its id.
    const auto known = std::ranges::find(evidence, m->id, &Evidence::value_type::first);
    if (known == evidence.end())
      evidence.emplace_back(m->id, m->reason);
    else
      known->second += "; " + m->reason;
    const std::string name = name_of_id(m->id);
    names.push_back(m->reason.empty() ? name : fmt::format("{} ({})", name, m->reason));
  }
  if (names.empty()) return;
  out.add("unsupported", Severity::kInfo, fmt::format("Not measured: {}.", shortened(names)),
          std::move(evidence));
}

// Curve points are short by design, but quoted figures must be precise.
void noisy_ceilings(const DeviceView& device, Collector& out) {
  Faulty noisy;
  for (const Ceiling* c : device.ceilings) {
    const Measurement* source = device.source(*c);
    if (source == nullptr) continue;
    // Samples only: differences between runs are no fault of this one.
    const auto& s = source->summary;
    const double half_width = s && s->median > 0 ? (s->ci_high - s->ci_low) / 2 / s->median : 0;
    if (half_width <= kNoisyHalfWidth && !source->flags.unstable) continue;
    noisy.add(*source, fmt::format("±{}{}", format_percent(half_width),
                                   source->flags.unstable ? ", varying" : ""));
  }
  std::move(noisy).report(
      "noisy", Severity::kWarning,
      "{} varied within the run: {}. Do not rely on these ceilings; run again on an idle machine.",
      out);
}

// Points behind no ceiling.
void varying_points(const DeviceView& device, Collector& out) {
  std::set<const Measurement*> sources;
  for (const Ceiling* c : device.ceilings) sources.insert(device.source(*c));
  Faulty varying;
  for (const Measurement* m : device.measurements)
    if (m->status == Status::kOk && m->value && m->flags.unstable && !sources.contains(m))
      varying.add(*m, format_value(*m->value, m->unit));
  std::move(varying).report("varying", Severity::kInfo,
                            "{} that no ceiling comes from varied within the run: {}.", out);
}

}  // namespace

void failures(const DeviceView& device, Collector& out) {
  Evidence failed;
  for (const MeasuredPoint& point : *device.points)
    if (point.what->status == Status::kError)
      failed.emplace_back(point.what->name(), point.what->reason);
  if (failed.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, why] : failed) names.push_back(name);
  std::string message = fmt::format("{} failed: {}. First reason: {}",
                                    format_count(std::ssize(failed), "measurement"),
                                    shortened(names), failed.front().second);
  out.add(std::string(kMeasurementsFailed), Severity::kError, std::move(message),
          std::move(failed));
}

void measurement_findings(const DeviceView& device, Benchmarks benchmarks, Collector& out) {
  failures(device, out);
  unsound(device, benchmarks, out);
  unsupported(device, out);
  never_run(device, benchmarks, out);
  noisy_ceilings(device, out);
  varying_points(device, out);
}

}  // namespace peakline

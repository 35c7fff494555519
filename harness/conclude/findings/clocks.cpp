// Findings on clocks: lowered by power, heat or a lock, or above the stated maximum.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/conclude/findings.hpp"
#include "harness/conclude/findings/subjects.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/point_names.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Below this share of its power limit a device was not limited by it, even if the reading is off.
constexpr double kPowerToSpare = 0.95;

bool has_reason(const Conditions& conditions, std::string_view part) {
  return std::ranges::any_of(conditions.throttle_reasons, [&](const std::string& reason) {
    return reason.find(part) != std::string::npos;
  });
}

std::string celsius(double degrees) { return fmt::format("{:.0f} °C", degrees); }

std::optional<double> clock_share(const Measurement& m, const DeviceFacts& gpu) {
  const auto& clock_hz = m.conditions.sm_clock_hz;
  if (!clock_hz || !gpu.sm_clock_max_hz) return std::nullopt;
  return *clock_hz / *gpu.sm_clock_max_hz;
}

// "1410 of 1980 MHz"; both clocks must be known.
std::string clock_of_max(const Measurement& m, const DeviceFacts& gpu) {
  return fmt::format("{:.0f} of {:.0f} MHz", *m.conditions.sm_clock_hz / 1e6,
                     *gpu.sm_clock_max_hz / 1e6);
}

std::string held_clock(const Measurement& m, const DeviceFacts& gpu) {
  return clock_share(m, gpu)
             ? fmt::format("held the SM clock at {} in {}", clock_of_max(m, gpu), name_of_point(m))
             : fmt::format("lowered the SM clock in {}", name_of_point(m));
}

// Measurements with a limit and a low or unknown clock.
struct Limited {
  const Measurement* worst = nullptr;  // largest loss; nullptr: none was limited
  std::int64_t count = 0;
};

Limited limited_by(bool (*limit)(const Conditions&), const DeviceView& gpu) {
  Limited found;
  double lowest = 0;
  for (const Measurement* m : gpu.measurements) {
    const auto share = clock_share(*m, *gpu.facts);
    if (m->status != Status::kOk || !limit(m->conditions) || share.value_or(0) >= kFullClockShare) {
      continue;
    }
    if (++found.count > 1 && share.value_or(1) >= lowest) continue;
    found.worst = m;
    lowest = share.value_or(1);
  }
  return found;
}

void power_cap(const DeviceView& gpu, Collector& out) {
  const auto [m, count] = limited_by(power_capped, gpu);
  if (m == nullptr) return;
  Evidence evidence = conditions_of(*m);
  std::string cap = "The power cap";
  if (const auto& limit_w = gpu.facts->power_limit_w) {
    evidence.emplace_back("power_limit", format_value(*limit_w, "W"));
    cap += fmt::format(" of {:.0f} W", *limit_w);
  }
  evidence.emplace_back("measurements_affected", std::to_string(count));
  out.add("power_cap", Severity::kInfo,
          fmt::format("{} {} ({} affected). That is normal under heavy load, and is why achievable "
                      "figures are below burst figures.",
                      cap, held_clock(*m, *gpu.facts), format_count(count, "measurement")),
          std::move(evidence));
}

// Whether the SMs are busy enough to run at a loaded clock.
bool loads_sms(const Measurement& m, Benchmarks benchmarks) {
  const Benchmark* benchmark = find_benchmark(benchmarks, m.id);
  return benchmark != nullptr && benchmark->loads == Loads::kCores;
}

// NVML reports a cap too late for short loads, and clocks stay low for seconds after a capped load.
// A lock therefore needs a load with known power, power to spare, and a run without limits or
// higher clocks.
void locked_clocks(const DeviceView& gpu, Benchmarks benchmarks, Collector& out) {
  const DeviceFacts& facts = *gpu.facts;
  const Measurement* fastest = nullptr;
  const Measurement* witness = nullptr;
  for (const Measurement* m : gpu.measurements) {
    const auto share = clock_share(*m, facts);
    if (m->status != Status::kOk || !loads_sms(*m, benchmarks) || !share) continue;
    if (power_capped(m->conditions) || thermally_limited(m->conditions)) return;
    if (fastest == nullptr || *share > *clock_share(*fastest, facts)) fastest = m;
    if (m->conditions.power_w && facts.power_limit_w &&
        *m->conditions.power_w < kPowerToSpare * *facts.power_limit_w) {
      witness = m;
    }
  }
  if (witness == nullptr || *clock_share(*fastest, facts) >= kFullClockShare) return;
  Evidence evidence = conditions_of(*witness);
  evidence.emplace_back("highest_sm_clock", format_clock(*fastest->conditions.sm_clock_hz));
  evidence.emplace_back("max_sm_clock", format_clock(*facts.sm_clock_max_hz));
  if (const auto& reasons = witness->conditions.throttle_reasons; !reasons.empty()) {
    evidence.emplace_back("reasons", joined(reasons));
  }
  out.add("clocks_below_max", Severity::kWarning,
          fmt::format("The SM clock never exceeded {} under load, although the device drew only "
                      "{:.0f} of {:.0f} W and reported no power or thermal limit: the clocks may "
                      "be locked.",
                      clock_of_max(*fastest, facts), *witness->conditions.power_w,
                      *facts.power_limit_w),
          std::move(evidence));
}

// Rates above the theoretical ones, which assume the stated maximum clock.
void clock_above_max(const DeviceFacts& gpu, Collector& out) {
  const auto &seen_hz = gpu.sm_clock_seen_max_hz, &max_hz = gpu.sm_clock_max_hz;
  const auto step_hz = sm_clock_step(gpu);
  if (!seen_hz || !max_hz || !step_hz) return;
  const std::string seen = format_clock(*seen_hz), max = format_clock(*max_hz);
  out.add("clock_above_max", Severity::kInfo,
          fmt::format("The SM clock runs at {}, {} above the stated maximum of {}: rates that "
                      "depend on it exceed theory by up to {}.",
                      seen, (*seen_hz - *max_hz) / *step_hz < 1.5 ? "a step" : "two steps", max,
                      format_percent(*seen_hz / *max_hz - 1)),
          {{"highest_sm_clock", seen}, {"max_sm_clock", max}});
}

// A load long enough for temperature to settle.
void soak(const Measurement& m, Collector& out) {
  Evidence evidence = conditions_of(m);
  std::string when;
  if (const auto seconds = int_param(m.launch, "seconds")) {
    when = fmt::format(" in {} s of load", *seconds);
    evidence.emplace_back("seconds", std::to_string(*seconds));
  }
  const std::vector<double>& degrees = m.series.temperature_c;
  if (!degrees.empty() && std::isfinite(degrees.front()) && std::isfinite(degrees.back())) {
    const std::string start = celsius(degrees.front()), end = celsius(degrees.back());
    when += fmt::format(" ({} at the start, {} at the end)", start, end);
    evidence.emplace_back("temperature_start", start);
    evidence.emplace_back("temperature_end", end);
  }
  if (m.value) evidence.emplace_back("rate", format_value(*m.value, m.unit));
  out.add("no_thermal_equilibrium", Severity::kWarning,
          fmt::format("{} did not reach thermal equilibrium{}. Soak for longer; if the temperature "
                      "keeps rising, check cooling and airflow.",
                      name_of_point(m), when),
          std::move(evidence));
}

}  // namespace

Evidence conditions_of(const Measurement& m) {
  Evidence evidence = {{"measurement", m.name()}};
  const Conditions& c = m.conditions;
  if (c.sm_clock_hz) evidence.emplace_back("sm_clock", format_clock(*c.sm_clock_hz));
  if (c.power_w) evidence.emplace_back("power", format_value(*c.power_w, "W"));
  if (c.temperature_c) evidence.emplace_back("temperature", celsius(*c.temperature_c));
  return evidence;
}

bool power_capped(const Conditions& conditions) { return has_reason(conditions, "power_cap"); }
bool thermally_limited(const Conditions& conditions) { return has_reason(conditions, "thermal"); }

void thermal_findings(const DeviceView& gpu, Collector& out) {
  const auto [m, count] = limited_by(thermally_limited, gpu);
  if (m == nullptr) return;
  Evidence evidence = conditions_of(*m);
  evidence.emplace_back("measurements_affected", std::to_string(count));
  const auto& degrees = m->conditions.temperature_c;
  out.add(std::string(kThermalLimit), Severity::kWarning,
          fmt::format("The device overheated{}: a thermal limit {}. Check cooling and airflow.",
                      degrees ? " at " + celsius(*degrees) : "", held_clock(*m, *gpu.facts)),
          std::move(evidence));
}

void clock_findings(const DeviceView& gpu, Benchmarks benchmarks, Collector& out) {
  power_cap(gpu, out);
  thermal_findings(gpu, out);
  locked_clocks(gpu, benchmarks, out);
  clock_above_max(*gpu.facts, out);
  for (const Measurement* m : gpu.measurements) {
    const bool soaked = m->status == Status::kOk && text_param(m->params, "load") == "soak";
    if (soaked && !int_param(m->launch, "equilibrium_s")) soak(*m, out);
  }
}

}  // namespace peakline

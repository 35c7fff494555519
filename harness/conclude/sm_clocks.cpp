#include "harness/conclude/sm_clocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "harness/hardware/spec.hpp"
#include "harness/statistics/sm_clock.hpp"

namespace peakline {

DeviceFacts with_seen_clock(DeviceFacts device, const std::vector<Measurement>& measurements) {
  device.sm_clock_seen_max_hz.reset();
  const auto step_hz = sm_clock_step(device);
  if (device.sm_clock_max_hz.value_or(0) <= 0 || !step_hz) return device;
  std::vector<double> clocks_hz;
  for (const Measurement& m : measurements) {
    const Conditions& seen = m.conditions;
    if (m.device == device.uuid && m.status == Status::kOk && seen.sm_clock_hz &&
        seen.sm_clock_source != ClockSource::kNvml)
      clocks_hz.push_back(*seen.sm_clock_hz);
  }
  device.sm_clock_seen_max_hz = agreed_clock_above(*device.sm_clock_max_hz, *step_hz, clocks_hz);
  round_digits(device.sm_clock_seen_max_hz);
  return device;
}

void drop_unbelieved_clocks(Measurement& m, const DeviceFacts& device) {
  const auto highest_hz = highest_sm_clock_hz(device);
  const auto believed = [&](double clock_hz) {
    return possible_clock(clock_hz, highest_hz, std::nullopt).has_value();
  };
  if (m.conditions.sm_clock_hz && !believed(*m.conditions.sm_clock_hz))
    m.conditions = without_clock(std::move(m.conditions));
  for (double& clock : m.series.sm_clock_hz)
    if (std::isfinite(clock) && !believed(clock)) clock = std::numeric_limits<double>::quiet_NaN();
}

Conditions without_clock(Conditions conditions) {
  conditions.sm_clock_hz.reset();
  conditions.sm_clock_source.reset();
  return conditions;
}

bool lacks_only_its_clock(const MeasuredPoint& point, const DeviceFacts& device,
                          double plausible_rate) {
  const auto &max_hz = device.sm_clock_max_hz, step_hz = sm_clock_step(device);
  if (!point.what->flags.implausible || point.sm_clock_hz || !max_hz || !step_hz) return false;
  return possible_clock(point.value / plausible_rate * *max_hz, max_hz, step_hz).has_value();
}

double clock_step_between(std::span<const DeviceFacts* const> runs) {
  double lowest_hz = std::numeric_limits<double>::infinity(), highest_hz = 0;
  for (const DeviceFacts* run : runs) {
    if (run == nullptr || !run->sm_clock_max_hz || run->sm_clock_max_hz != runs[0]->sm_clock_max_hz)
      return 0;
    const auto clock_hz =
        possible_clock(highest_sm_clock_hz(*run), run->sm_clock_max_hz, sm_clock_step(*run));
    if (!clock_hz) return 0;  // no run writes such a clock
    lowest_hz = std::min(lowest_hz, *clock_hz);
    highest_hz = std::max(highest_hz, *clock_hz);
  }
  return lowest_hz > 0 && highest_hz > lowest_hz ? highest_hz / lowest_hz - 1 : 0;
}

}  // namespace peakline

#pragma once

// A real device that becomes slower in the middle of its run.

#include <algorithm>
#include <cstddef>

#include "harness/conclude/sittings.hpp"
#include "harness/hardware/usual_spread.hpp"
#include "harness/profile/profile.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/profile.hpp"

namespace peakline::sample {

inline Profile measured_h200() {
  return read_profile(PEAKLINE_SOURCE_DIR "/reports/reference/nvidia-h200.json");
}

// Each GPU figure that was measured in several sittings has `speed` times its rate in the last one.
// Values and spreads follow by the code that concludes. Returns how many ceilings changed.
inline std::size_t slow_down_last_sitting(Profile& profile, double speed) {
  std::size_t changed = 0;
  for (Ceiling& row : profile.ceilings) {
    const auto m = std::ranges::find_if(profile.measurements, [&](const Measurement& each) {
      return each.device == row.device && each.name() == row.measurement;
    });
    if (m == profile.measurements.end() || row.device == kHostDevice) continue;
    // What counts the fastest samples sees nothing of a loss in some of them.
    if (m->sittings.empty() || m->estimate == Estimate::kFastestTenth) continue;
    const double before_s = estimated(m->samples_s, m->estimate);
    const auto last = static_cast<std::ptrdiff_t>(m->sittings.back().back());
    for (auto time = m->samples_s.end() - last; time != m->samples_s.end(); ++time) *time /= speed;
    row.value *= before_s / estimated(m->samples_s, m->estimate);
    row.spread = spread_of(
        *m, usual_spread(row.resource, row.basis, site_of(row.device, profile.host)).run_to_run);
    ++changed;
  }
  return changed;
}

}  // namespace peakline::sample

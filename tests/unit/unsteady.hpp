#pragma once

// A real device that becomes slower in the middle of its run.

#include <algorithm>
#include <cstddef>

#include "harness/conclude/sittings.hpp"
#include "harness/hardware/usual_spread.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/profile.hpp"

namespace peakline::sample {

// Multiplies each GPU figure (except PCIe both ways, which has no limit) by `speed` in its last
// sitting, or the second half of its only one, and derives values and spreads again. Returns the
// number of changed ceilings.
inline std::size_t slow_down_midway(Profile& profile, double speed) {
  std::size_t changed = 0;
  for (Ceiling& row : profile.ceilings) {
    const auto m = std::ranges::find_if(profile.measurements, [&](const Measurement& each) {
      return each.device == row.device && each.name() == row.measurement;
    });
    if (m == profile.measurements.end() || row.device == kHostDevice) continue;
    if (row.resource == "pcie.bidirectional") continue;
    const double before_s = estimated(m->samples_s, m->estimate);
    const bool several = !m->sittings.empty() && m->sittings.back().size() > 1;
    const auto last = several ? static_cast<std::ptrdiff_t>(m->sittings.back().back())
                              : std::ssize(m->samples_s) / 2;
    for (auto time = m->samples_s.end() - last; time != m->samples_s.end(); ++time) *time /= speed;
    row.value *= before_s / estimated(m->samples_s, m->estimate);
    row.spread = spread_of(
        *m, usual_spread(row.resource, row.basis, site_of(row.device, profile.host)).run_to_run);
    ++changed;
  }
  return changed;
}

}  // namespace peakline::sample

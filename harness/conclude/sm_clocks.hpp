#pragma once

// Decides which SM clocks are real: workers keep readings up to two steps above the stated maximum,
// and those on which several measurements agree are believed.

#include <span>
#include <vector>

#include "harness/values/facts.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// Sets sm_clock_seen_max_hz by clocks that kernels read; NVML's stay at the stated maximum. Without
// a known step (harness/hardware/spec.hpp) nothing above it is believed.
DeviceFacts with_seen_clock(DeviceFacts device, const std::vector<Measurement>& measurements);

// Drops clocks above kPlausibleMargin x the highest known one.
void drop_unbelieved_clocks(Measurement& m, const DeviceFacts& device);

Conditions without_clock(Conditions conditions);

// Whether an implausible rate without clock would be plausible at up to two steps above the stated
// maximum, given another run's rate: its soundness is then unknown. Older profiles have such rows.
bool lacks_only_its_clock(const MeasuredPoint& point, const DeviceFacts& device,
                          double plausible_rate);

// Relative difference of the highest clocks of one card's runs, which explains as much of its
// rates. 0 if none exceeds the stated maximum, or maxima differ.
double clock_step_between(std::span<const DeviceFacts* const> runs);

}  // namespace peakline

#pragma once

// Decides which readings of the SM clock a run believes. Workers keep readings up to two steps
// above the stated maximum; those on which several measurements agree are real.

#include <span>
#include <vector>

#include "harness/values/facts.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/profile.hpp"

namespace peakline {

// The device with sm_clock_seen_max_hz, from its measurements whose clock was read by kernels.
// NVML's clock is no vote: it stays at the stated maximum. Without a known step
// (harness/hardware/spec.hpp) nothing above the maximum is believed.
DeviceFacts with_seen_clock(DeviceFacts device, const std::vector<Measurement>& measurements);

// Drops clocks above kPlausibleMargin x what the device is known to run at.
void drop_unbelieved_clocks(Measurement& m, const DeviceFacts& device);

Conditions without_clock(Conditions conditions);

// Whether the rate was flagged implausible, its clock is missing, and a clock up to two steps above
// the stated maximum would explain it beside a plausible rate of another run: then nobody knows
// whether it is sound. Profiles have such rows if they were written before such clocks were
// believed.
bool lacks_only_its_clock(const MeasuredPoint& point, const DeviceFacts& device,
                          double plausible_rate);

// The share by which the highest clocks of runs of one card differ, which explains as much of its
// rates. 0 if none is above the stated maximum, or the maxima differ.
double clock_step_between(std::span<const DeviceFacts* const> runs);

}  // namespace peakline

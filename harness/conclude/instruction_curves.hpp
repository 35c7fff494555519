#pragma once

// Curves of instruction.* and atomics.*: measured and documented rates per clock.

#include <optional>
#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline {

// At the measurement's clock; nullopt if unknown.
std::optional<double> results_per_clock_per_sm(const Measurement& m, const DeviceFacts& device);
// The measured time in cycles of its own clock.
std::optional<double> latency_cycles(const Measurement& m);

inline constexpr const char* kInstructions = "instructions";  // topic of the next two

// "per clock and SM from 3.99 (match) to 253 (fp16x2_fma); 25 of 26 within 2 % of the documented
// rate, furthest f64_to_f32 at 88.7 %". Figures results and documented by op.
CurveRule instruction_throughput_curve();
// "latency in cycles from 4.00 (fp32_fma) to 61.0 (match)". Figures cycles by op.
CurveRule instruction_latency_curve();
// "in shared memory, int32_add 3900 GOP/s with an address a thread, 1 / 31 of that on one", at
// device scope. Figures rate and one_address_share by op and scope, furthest_from_device by scope.
CurveRule atomics_curve(std::string topic, const std::string& label);

}  // namespace peakline

#pragma once

// Shared by the measurements of overlapped copies and fused steps and by their curves.

#include <cstdint>
#include <optional>

#include "harness/values/measurement.hpp"

namespace peakline::bench {

// Launch facts of the overlap benchmarks: time of each part alone, in nanoseconds.
inline constexpr const char* kCopyInNs = "copy_in_ns";
inline constexpr const char* kCopyOutNs = "copy_out_ns";
inline constexpr const char* kKernelNs = "kernel_ns";
// A turn and each part alone count by it: other guests stall copies for tens of milliseconds.
inline constexpr Estimate kOverlapEstimate = Estimate::kFastestTenth;

// Time of the slowest part alone over that of all parts at once; 1: the others hide completely.
// nullopt if the parts were not noted, or if kernel and slower copy differ by more than a factor of
// kMatched, which leaves too little to hide.
inline constexpr double kMatched = 1.25;
std::optional<double> overlap_share(const Measurement& m);

struct StepsTiming {
  unsigned steps;
  double seconds;
};
// Steps, at least one, that take `seconds`, by the line through two timings. A step counts for at
// least a sixteenth of its mean in `many`, so that noise (profiler, busy host) makes no endless
// kernel.
unsigned steps_that_take(double seconds, StepsTiming few, StepsTiming many);

// Chains launched before the host waits: enough that the wait counts for little, and far below the
// thousand launches that fill the queue.
inline constexpr std::int64_t kChainsInARow = 64;

}  // namespace peakline::bench

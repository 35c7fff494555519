#pragma once

// Curves of overlapped copies, fused element-wise steps, and synchronization.

#include <optional>
#include <string>

#include "harness/conclude/curves.hpp"

namespace peakline::bench {

// Launch facts of the overlap benchmarks: time of each part alone, in nanoseconds.
inline constexpr const char* kCopyInNs = "copy_in_ns";
inline constexpr const char* kCopyOutNs = "copy_out_ns";
inline constexpr const char* kKernelNs = "kernel_ns";

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
// least a sixteenth of its mean in `many`: noise (profiler, busy host) must not make the kernel
// endless.
unsigned steps_that_take(double seconds, StepsTiming few, StepsTiming many);

// "copying in while a kernel runs: 98.7 % of the slowest part's rate with pinned memory (95 % from
// chunks of 4 MiB), 93.1 % with pageable": at the largest "chunk" of each "memory", and from which
// chunk on all reach kHidden. Figures share by memory and chunk, hidden_from by memory.
inline constexpr double kHidden = 0.95;
CurveRule overlap_curve(const std::string& label);

// "time saved by one kernel: 2 steps 34.8 % (33.3 % by bytes), ...". Figures saving and
// saving_by_bytes by steps.
CurveRule fusion_curve();

// "4 steps over 64 KiB: 14.3 us with a kernel each, 6.38 us as a graph of these, 3.51 us fused", at
// the smallest "bytes". Figures time of one chain by kernels and bytes.
CurveRule small_chain_curve();
// Chains launched before the host waits: enough that the wait counts for little, and far below the
// thousand launches that fill the queue.
inline constexpr std::int64_t kChainsInARow = 64;

// "launch and wait by stream 8.1 us, blocking event 21 us", "barrier of a block of 32 threads 9.1
// ns (18 cycles), ...": by `param` (empty: none), with cycles if the kernel read the clock. Figures
// time and cycles, by the parameter.
inline constexpr const char* kSynchronization = "synchronization";
CurveRule waits_curve(const std::string& label, const std::string& param,
                      std::string topic = kSynchronization);

}  // namespace peakline::bench

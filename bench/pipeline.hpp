#pragma once

// Sentences about overlapping, fusing and waiting: copies beside kernels, chains of element-wise
// steps, and synchronization.

#include <optional>
#include <string>

#include "harness/conclude/curves.hpp"

namespace peakline::bench {

// Launch facts in which overlap's benchmarks note the time of each part alone, in nanoseconds.
inline constexpr const char* kCopyInNs = "copy_in_ns";
inline constexpr const char* kCopyOutNs = "copy_out_ns";
inline constexpr const char* kKernelNs = "kernel_ns";

// The time of the slowest part alone over that of all parts at once: 1 where the others hide behind
// it. nullopt where no part was noted, and where the kernel took kMatched times as long as the
// slower copy or less than 1 / kMatched of it: too little was there to hide.
inline constexpr double kMatched = 1.25;
std::optional<double> overlap_share(const Measurement& m);

// The time that `steps` of a kernel took.
struct StepsTiming {
  unsigned steps;
  double seconds;
};
// The steps that take `seconds`, at least one, by the line through two timings of a kernel. Where
// noise hides what a step takes (under a profiler, on a busy host), a sixteenth of what one took in
// `many` counts, so that the kernel is not endless.
unsigned steps_that_take(double seconds, StepsTiming few, StepsTiming many);

// "copying in while a kernel runs: 98.7 % of the slowest part's rate with pinned memory (95 % from
// chunks of 4 MiB), 93.1 % with pageable": the share at the largest "chunk" for each "memory", and
// the smallest from which all larger ones reach kHidden. Figures share by memory and chunk for
// each point that has one, hidden_from by memory.
inline constexpr double kHidden = 0.95;
CurveRule overlap_curve(const std::string& label);

// "time saved by one kernel: 2 steps 34.8 % (33.3 % by bytes), ...": for each number of "steps",
// fused against separate "kernels". Figures saving and saving_by_bytes by steps.
CurveRule fusion_curve();

// "4 steps over 64 KiB: 14.3 us with a kernel each, 6.38 us as a graph of these, 3.51 us fused": at
// the smallest "bytes". Figures time of one chain by kernels and bytes.
CurveRule small_chain_curve();
// Chains that the host launches before it waits: well below the thousand launches at which the
// queue is full, and enough for the wait to count for little.
inline constexpr std::int64_t kChainsInARow = 64;

// "launch and wait by stream 8.1 us, blocking event 21 us", "barrier of a block of 32 threads 9.1
// ns (18 cycles), ...": the times by the parameter, if there is one, with cycles where the kernel
// has read the clock. Figures time and cycles, by the parameter. param: empty where the points have
// none.
inline constexpr const char* kSynchronization = "synchronization";
CurveRule waits_curve(const std::string& label, const std::string& param,
                      std::string topic = kSynchronization);

}  // namespace peakline::bench

#pragma once

// Curves of latencies: of single levels, over the footprint, over the stride.

#include <span>
#include <string>
#include <vector>

#include "harness/conclude/curves.hpp"

namespace peakline {

inline constexpr const char* kMemoryLatency = "memory latency";  // the topic of all

// A run of neighbouring footprints with the same latency.
struct Plateau {
  double from_bytes = 0, to_bytes = 0;
  double seconds = 0;  // the median
};
struct LatencyPoint {
  double bytes = 0, seconds = 0;
};
// Finds those of at least three points, whose latencies are within 5 % of one another. points: by
// footprint, ascending.
std::vector<Plateau> plateaus(std::span<const LatencyPoint> points);

// "L1 16.2 ns, 32 cycles", or of the points by "part": "L2 near 138 ns, 273 cycles". Figures
// latency and cycles by level, and by part where there are any. label: empty, what the device's
// memory is; level: "l1"
CurveRule latency_curve(const std::string& label, const std::string& level);

// "wholly in L1 up to 192 KiB, in the near part of L2 up to 28 MiB, in L2 up to 56 MiB; 333 ns up
// to 64 GiB, 356 ns over 128 GiB", from the latencies by footprint ("bytes"): the plateaus that end
// below the L1's size (with the shared memory, which is known, it is one memory) and the L2's, and
// what comes beyond. Figures held and near_held by level, plateau and plateau_up_to of the memory,
// largest.
CurveRule latency_steps_curve();

// "L1 lines of 128 B, of which 32 B are filled at a time", from the latencies by "stride" in a
// footprint beyond the L1. In random order, the lines used fit from twice the line's size on; in
// order of address, the latency rises until no two elements share what is filled at a time. Figures
// line and sector by level. label, level: "L1" and "l1".
CurveRule line_size_curve(const std::string& label, const std::string& level);

}  // namespace peakline

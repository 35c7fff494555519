#pragma once

// Latency curves: single levels, by footprint, by stride.

#include <span>
#include <string>
#include <vector>

#include "harness/conclude/curves.hpp"

namespace peakline {

inline constexpr const char* kMemoryLatency = "memory latency";  // topic of all

// Neighbouring footprints with equal latency.
struct Plateau {
  double from_bytes = 0, to_bytes = 0;
  double seconds = 0;  // median
};
struct LatencyPoint {
  double bytes = 0, seconds = 0;
};
// Plateaus of at least three points within 5 % of one another. points: footprints ascending.
std::vector<Plateau> plateaus(std::span<const LatencyPoint> points);

// "L1 16.2 ns, 32 cycles", or by "part": "L2 near 138 ns, 273 cycles". Figures latency and cycles
// by level, and by part if any. label: "" for the device's memory; level: "l1".
CurveRule latency_curve(const std::string& label, const std::string& level);

// "wholly in L1 up to 192 KiB, in the near part of L2 up to 28 MiB, in L2 up to 56 MiB; 333 ns up
// to 64 GiB, 356 ns over 128 GiB": plateaus of latency by footprint ("bytes") that end below the
// sizes of L1 (known with shared memory) and L2, and what follows. Figures held and near_held by
// level, plateau and plateau_up_to of the memory, largest.
CurveRule latency_steps_curve();

// "L1 lines of 128 B, of which 32 B are filled at a time": from latencies by "stride" beyond the
// L1. In random order, used lines fit from twice the line size on; in address order, latency rises
// until elements no longer share a fill. Figures line and sector by level. label, level: "L1",
// "l1".
CurveRule line_size_curve(const std::string& label, const std::string& level);

}  // namespace peakline

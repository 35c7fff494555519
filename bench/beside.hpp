#pragma once

// What a kernel and a collective cost each other; shared by registration and measurement.

#include "bench/collectives.hpp"

namespace peakline::bench {

enum class BesideLoad {
  kGemm,
  kYieldingGemm,  // planned for the SMs that the collective leaves
  kCopy,          // of device memory
};

struct Beside {
  BesideLoad load = {};
  // The collective's thread blocks are placed before the load's.
  bool collective_first = true;
};

// Notes of a point: seconds of a launch and of a collective, alone and beside each other, mean over
// the GPUs, and the SM clock of both times.
inline constexpr const char *kLoadAloneNs = "load_alone_ns", *kLoadBesideNs = "load_beside_ns",
                            *kCollectiveAloneNs = "collective_alone_ns",
                            *kCollectiveBesideNs = "collective_beside_ns",
                            *kClockAloneHz = "clock_alone_hz", *kClockBesideHz = "clock_beside_hz";

}  // namespace peakline::bench

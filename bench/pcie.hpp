#pragma once

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/host/affinity.hpp"

namespace peakline::bench {

// Binds thread and pages to the device's NUMA node, so that nothing that moves between them crosses
// sockets.
host::NodeBinding bind_near(CudaBench& bench);

}  // namespace peakline::bench

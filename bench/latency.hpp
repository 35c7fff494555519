#pragma once

#include <cstdint>

namespace peakline::bench {

class CudaBench;

// Measures one load past the L1, over `lines` lines of 128 bytes in random order, in `memory` that
// the device can read and write. The mean of all SMs, which differ in distance to the link and walk
// at once, with one load in flight each.
void measure_peer_latency(CudaBench& bench, char* memory, std::uint64_t lines);

}  // namespace peakline::bench

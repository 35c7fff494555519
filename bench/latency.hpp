#pragma once

#include <cstdint>

namespace peakline::bench {

class CudaBench;

// Measures one load, past the L1, of lines that follow one another without a pattern in `memory`,
// `lines` of 128 bytes that the device can reach and write: the mean of all SMs, since some are
// nearer to the link than others. They walk at once, each with one load on its way, which is next
// to nothing for a link.
void measure_peer_latency(CudaBench& bench, char* memory, std::uint64_t lines);

}  // namespace peakline::bench

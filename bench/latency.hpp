#pragma once

#include <cstdint>

#include "harness/benchmark/cuda_bench.hpp"

namespace peakline::bench {

// Measures one load, past the L1, of lines that follow one another without a pattern in `memory`,
// `lines` of 128 bytes that the device can reach and write.
void measure_line_latency(CudaBench& bench, char* memory, std::uint64_t lines);

}  // namespace peakline::bench

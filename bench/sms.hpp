#pragma once

#include "harness/benchmark/cuda_bench.hpp"

namespace peakline::bench {

// The SMs of the point; all of them if its parameter is a word. Skips it if the GPU has no more.
unsigned sms_of(const CudaBench& bench);

}  // namespace peakline::bench

#pragma once

// The links between GPUs, as the registrations of their benchmarks speak of them: free of CUDA.

#include "harness/values/benchmark.hpp"
#include "harness/values/facts.hpp"

namespace peakline::bench {

inline constexpr const char* kLinksTopic = "GPU to GPU";  // of their curves

// Who copies: the copy engines of the GPU that measures, or its SMs.
enum class CopiesBy { kEngine, kSm };

// Whether NVLinks are what was measured; while it is planned, they may be.
inline bool over_nvlinks(const Measurement& m, const DeviceFacts* gpu) {
  return gpu == nullptr || nvlinks_to(*gpu, second_gpu(m.params)) > 0;
}

}  // namespace peakline::bench

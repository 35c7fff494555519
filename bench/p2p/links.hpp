#pragma once

// Links between GPUs, for registrations; free of CUDA.

#include "harness/conclude/benchmark.hpp"
#include "harness/values/facts.hpp"

namespace peakline::bench {

inline constexpr const char* kLinksTopic = "GPU to GPU";  // of their curves

// The GPU that measures copies, by its copy engines or its SMs.
enum class CopiesBy { kEngine, kSm };

// Whether NVLinks were measured; true while planning, when the device is unknown.
inline bool over_nvlinks(const Measurement& m, const DeviceFacts* gpu) {
  return gpu == nullptr || nvlinks_to(*gpu, second_gpu(m.params)) > 0;
}

}  // namespace peakline::bench

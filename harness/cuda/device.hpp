#pragma once

#include <string>

#include "harness/core/facts.hpp"

namespace peakline::cuda {

// What the CUDA runtime knows of the current device; makes its context. Throws CudaError.
DeviceFacts device_facts();

// Bytes of device memory that are free now.
double free_memory_bytes();

// Version of the linked CUDA runtime, "13.0"; makes no context.
std::string runtime_version();

}  // namespace peakline::cuda

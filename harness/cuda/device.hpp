#pragma once

#include <string>

#include "harness/core/facts.hpp"

namespace peakline::cuda {

// What the CUDA runtime knows of the current device; makes its context. Throws CudaError.
DeviceFacts device_facts();

// Bytes of device memory that are free now.
double free_memory_bytes();

// Version of the linked CUDA runtime and of the newest CUDA the driver supports, "13.0"; the
// latter "" without a driver. Neither makes a context.
std::string runtime_version();
std::string driver_api_version();

}  // namespace peakline::cuda

#pragma once

#include <string>

#include "harness/values/facts.hpp"

namespace peakline::cuda {

// Facts from the CUDA runtime about the current device; creates its context. Throws CudaError.
DeviceFacts device_facts();

// The linked CUDA runtime, "13.0"; creates no context.
std::string runtime_version();

}  // namespace peakline::cuda

#pragma once

#include <stdexcept>

namespace peakline::cuda {

// NVML cannot be used: the message says why (no driver, library and kernel module differ, ...).
struct NvmlUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace peakline::cuda

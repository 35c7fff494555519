#pragma once

#include <stdexcept>

namespace peakline::cuda {

// The message says why: no driver, versions of library and kernel module differ, ...
struct NvmlUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace peakline::cuda

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "harness/cuda/resources.hpp"

namespace peakline {

// A buffer with these elements.
template <class T>
cuda::DeviceBuffer<T> on_device(const std::vector<T>& host) {
  cuda::DeviceBuffer<T> buffer(host.size());
  buffer.from_host(host);
  return buffer;
}

}  // namespace peakline

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "harness/cuda/resources.hpp"
#include "kernels/fill.cuh"

namespace peakline {

template <class T>
cuda::DeviceBuffer<T> on_device(const std::vector<T>& host) {
  cuda::DeviceBuffer<T> buffer(host.size());
  buffer.from_host(host);
  return buffer;
}

inline std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i)
    words[i] = static_cast<std::uint32_t>(kernels::random_bits(seed, i));
  return words;
}

}  // namespace peakline

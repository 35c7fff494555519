#pragma once

// Memory of host and device, and copies between them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "bench/pcie/ways.hpp"
#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/host/affinity.hpp"

namespace peakline::bench {

// Binds thread and pages to the device's NUMA node, so that transfers cross no sockets.
host::NodeBinding bind_near(CudaBench& bench);

namespace pcie {

// Larger copies are verified only in this many words, half at either end: a gigabyte takes seconds.
inline constexpr std::size_t kVerifiedWords = std::size_t{1} << 20;

// Memory on the bound node: kLargest bytes, of write-combined memory kComparedBytes. Allocated once
// per worker and use, since page-locking takes longer than measuring.
std::uint32_t* locked_memory(CudaBench& bench, Memory memory, const char* use);
std::uint32_t* pageable_memory(CudaBench& bench, const char* use);

CudaBench::Launch copy_launch(Direction direction, std::uint32_t* host_data,
                              std::uint32_t* device_data, std::size_t bytes,
                              Memory memory = Memory::kPinned);

// Copies random words and compares up to kVerifiedWords of them. Returns the mismatch, or "".
std::string find_mismatch(Direction direction, std::uint32_t* host_data,
                          const cuda::DeviceBuffer<std::uint32_t>& device_data, std::size_t words,
                          std::uint64_t seed, const std::function<void()>& copy);
// Likewise for both directions at once: `host_out` to `device_in`, `device_out` to `host_in`.
std::string find_mismatch_both_ways(std::uint32_t* host_out,
                                    const cuda::DeviceBuffer<std::uint32_t>& device_in,
                                    std::uint32_t* host_in,
                                    const cuda::DeviceBuffer<std::uint32_t>& device_out,
                                    std::uint64_t seed, const std::function<void()>& copy);

}  // namespace pcie
}  // namespace peakline::bench

#pragma once

// The host's memory and the device's, and copies between them: for the benchmarks of the host link.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "bench/pcie/ways.hpp"
#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/resources.hpp"
#include "harness/host/affinity.hpp"

namespace peakline::bench {

// Binds thread and pages to the device's NUMA node, so that nothing that moves between them crosses
// sockets.
host::NodeBinding bind_near(CudaBench& bench);

namespace pcie {

// The largest copy of --quick, kept small because page-locking is slow.
inline constexpr std::size_t kLargestQuick = std::size_t{256} << 20;
// Verifying a gigabyte on the host takes seconds, so of larger copies only this much is verified,
// half of it at either end; smaller ones are verified in full.
inline constexpr std::size_t kVerifiedWords = std::size_t{1} << 20;

// Memory of that node is allocated once per worker for each use, since page-locking a gigabyte
// takes longer than measuring it: kLargest bytes (kLargestQuick in a quick run), kComparedBytes of
// write-combined memory, kLargestPageable bytes of pageable memory.
std::uint32_t* locked_memory(CudaBench& bench, Memory memory, const char* use);
std::uint32_t* pageable_memory(CudaBench& bench, const char* use);

CudaBench::Launch copy_launch(Direction direction, std::uint32_t* host_data,
                              std::uint32_t* device_data, std::size_t bytes,
                              Memory memory = Memory::kPinned);

// Fills the source with random words, copies, and compares part of the destination, half of it at
// either end.
std::string find_mismatch(Direction direction, std::uint32_t* host_data,
                          const cuda::DeviceBuffer<std::uint32_t>& device_data, std::size_t words,
                          std::uint64_t seed, const std::function<void()>& copy);
// Does the same for a copy of both directions at once: `out` to `device_in`, `device_out` to `in`.
std::string find_mismatch_both_ways(std::uint32_t* host_out,
                                    const cuda::DeviceBuffer<std::uint32_t>& device_in,
                                    std::uint32_t* host_in,
                                    const cuda::DeviceBuffer<std::uint32_t>& device_out,
                                    std::uint64_t seed, const std::function<void()>& copy);

}  // namespace pcie
}  // namespace peakline::bench

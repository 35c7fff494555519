#pragma once

// Device memory from a pool that returns nothing before the process ends. The driver clears
// returned memory in the background, which costs bandwidth meanwhile (H200: a tenth for 2.5 ms per
// GiB) and would disturb the next measurement.

#include <cstddef>

namespace peakline::cuda {

// Uninitialized device memory of at least `bytes`; nullptr for 0. Waits for earlier work of the
// legacy stream. Throws CudaError.
void* allocate(std::size_t bytes);
// Waits for all work on the device first. Accepts nullptr. Never throws.
void release(void* memory) noexcept;

// Bytes that can be allocated: free memory plus the pool's unused part.
double free_memory_bytes();

}  // namespace peakline::cuda

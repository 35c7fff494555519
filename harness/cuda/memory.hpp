#pragma once

// Device memory of this process, kept once taken. The driver clears memory that a process gives
// back in the background, and until that is done everything else finds less bandwidth: on an H200,
// a tenth less for 2.5 ms per GiB. Measurements follow one another within milliseconds, so their
// buffers come from a pool that gives nothing back before the process ends.

#include <cstddef>

namespace peakline::cuda {

// Allocates `bytes` of device memory or more, not initialized, for free(); nullptr for 0. Waits for
// earlier work of the legacy stream. Throws CudaError.
void* allocate(std::size_t bytes);
// Waits for all work that may still use the memory. nullptr: does nothing. Never throws.
void release(void* memory) noexcept;

// Device memory that can be allocated, in bytes: what is free and what the pool holds unused.
double free_memory_bytes();

}  // namespace peakline::cuda

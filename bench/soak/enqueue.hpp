#pragma once

// Enqueues the kernels that look for wrong bits. Sizes are multiples of 16 bytes.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/differences.cuh"

namespace peakline::bench {

// Moments in the log count from here.
void start_log(kernels::DifferenceLog* log, cudaStream_t stream);

void compare(const std::byte* expected, const std::byte* found, std::size_t bytes,
             kernels::DifferenceLog* log, cudaStream_t stream);

void write_pattern(std::byte* data, std::size_t bytes, const kernels::Content& content,
                   cudaStream_t stream);

// The pattern to check and the one to write; see kernels::replace_pattern().
struct Replacement {
  kernels::Content now, next;
  unsigned rounds = 1;
  bool downward = false;
};
void replace_pattern(std::byte* data, std::size_t bytes, const Replacement& replacement,
                     kernels::DifferenceLog* log, cudaStream_t stream);

// The most dynamic shared memory that a block can have.
std::size_t most_shared_bytes();
struct SharedCheck {
  unsigned blocks = 0;
  std::size_t bytes = 0;  // of shared memory per block
  std::uint64_t seed = 0;
  unsigned rounds = 0;
  std::uint32_t flips = 0;  // bits to break, for tests
};
void check_shared(const SharedCheck& check, kernels::DifferenceLog* log, cudaStream_t stream);

}  // namespace peakline::bench

#pragma once

// Directions, kinds of memory and sizes of copies over the host link; free of CUDA.

#include <cstddef>

namespace peakline::bench::pcie {

enum class Direction { kToDevice, kToHost };

// Page-locked memory. The copy engines move the data; mapped memory is accessed by the SMs.
enum class Memory { kPinned, kWriteCombined, kMapped };

// Larger copies gain 0.1 % (on H200s and H100s), and page-locking memory for them takes longer than
// measuring.
inline constexpr std::size_t kLargest = std::size_t{256} << 20;
// Kinds of memory are compared at this size: large enough for the full rate, quick to page-lock.
inline constexpr std::size_t kComparedBytes = std::size_t{64} << 20;
// The link's state is read while data move, so these copies must last long enough.
inline constexpr std::size_t kLinkWatchBytes = std::size_t{64} << 20;

}  // namespace peakline::bench::pcie

#pragma once

// Directions, kinds of memory and sizes of copies over the host link; free of CUDA.

#include <cstddef>

namespace peakline::bench::pcie {

enum class Direction { kToDevice, kToHost };

// Page-locked memory. The copy engines move the data; mapped memory is accessed by the SMs.
enum class Memory { kPinned, kWriteCombined, kMapped };

inline constexpr std::size_t kLargest = std::size_t{1} << 30;
// Larger copies take a quarter of a second each and show no more.
inline constexpr std::size_t kLargestPageable = std::size_t{256} << 20;
// Kinds of memory are compared at this size: large enough for the full rate, quick to page-lock.
inline constexpr std::size_t kComparedBytes = std::size_t{64} << 20;
// The link's state is read while data move, so these copies must last long enough.
inline constexpr std::size_t kLinkWatchBytes = std::size_t{64} << 20;

}  // namespace peakline::bench::pcie

#pragma once

// The ways over the host link, and how much is copied on them: what the benchmarks' points and the
// copies both need, free of CUDA.

#include <cstddef>

namespace peakline::bench::pcie {

enum class Direction { kToDevice, kToHost };

// Page-locked memory, and what moves the data: the copy engines, or for mapped memory the SMs.
enum class Memory { kPinned, kWriteCombined, kMapped };

inline constexpr std::size_t kLargest = std::size_t{1} << 30;
// Larger copies, which take a quarter of a second each, show no more.
inline constexpr std::size_t kLargestPageable = std::size_t{256} << 20;
// Kinds of memory are compared at a size large enough for the rate and quick to page-lock.
inline constexpr std::size_t kComparedBytes = std::size_t{64} << 20;
// The link's state is read while data moves, so the copies must last long enough.
inline constexpr std::size_t kLinkWatchBytes = std::size_t{64} << 20;

}  // namespace peakline::bench::pcie

#pragma once

#include <cstdint>

namespace peakline::bench {

// Reads begin at most this many bytes after a line's boundary: one cache line.
inline constexpr std::int64_t kMostAlignmentOffset = 128;

}  // namespace peakline::bench

#pragma once

#include <cstdint>

namespace peakline::bench {

// Largest offset from a line boundary: one cache line.
inline constexpr std::int64_t kMostAlignmentOffset = 128;

}  // namespace peakline::bench

#pragma once

// Patterns and log that the kernels of verify.cuh share with the host.

#include <cstdint>

namespace peakline::kernels {

// A 32-bit word that differs from its expected value.
struct Difference {
  std::uint64_t word;         // index
  std::uint64_t nanoseconds;  // by the device's global timer
  std::uint32_t expected, found;
  std::uint32_t sm;  // that compared it
};

// Counts all differences and keeps the first ones.
inline constexpr unsigned kKeptDifferences = 64;
struct DifferenceLog {
  std::uint64_t started_ns;  // when the load began, by the device's global timer; 0: not yet
  unsigned long long count;
  Difference kept[kKeptDifferences];
};

// The pattern that memory is filled with.
enum class Pattern : std::uint32_t {
  kAddress,  // each 8 bytes hold their own offset: finds lines of the address that are stuck
  kRandom,
  kStripes,  // 01010101...: neighbours differ
  kSolid     // zeros
};
struct Content {
  Pattern pattern = Pattern::kSolid;
  bool inverted = false;
  std::uint64_t seed = 0;
};

// Rows and columns of the tile that check_tile() computes.
inline constexpr int kCheckedRows = 16, kCheckedColumns = 8;

}  // namespace peakline::kernels

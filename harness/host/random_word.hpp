#pragma once

#include <cstdint>

namespace peakline::host {

// The word at `place` of a random sequence: SplitMix64's finalizer (Steele, Lea and Flood, OOPSLA
// 2014).
inline std::uint64_t random_word(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace peakline::host

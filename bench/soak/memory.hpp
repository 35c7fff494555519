#pragma once

// Memory that is filled with one pattern after the other, and checked before each is replaced.

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/soak/differences.hpp"

namespace peakline::bench {

class PatternedMemory {
 public:
  // rounds: how often a launch moves through each block's part; odd.
  PatternedMemory(CudaBench& bench, std::size_t bytes, unsigned rounds);

  // Each launch checks what the one before has written: a pattern, its inverse, then upward and
  // downward in turn, and on to the next pattern (moving inversions).
  CudaBench::Launch launch() const;
  Work work() const;
  void report(CudaBench& bench, const std::string& what) const;
  // Test only.
  std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(memory_.data()); }
  const Differences& differences() const { return differences_; }

 private:
  std::uint64_t seed_;
  unsigned rounds_;
  cuda::DeviceBuffer<std::byte> memory_;
  Differences differences_;
  mutable std::uint64_t step_ = 0;  // launches enqueued, each of which depends on its number
};

// The shared memory of every SM. flips: what to break, for tests.
class PatternedSharedMemory {
 public:
  explicit PatternedSharedMemory(CudaBench& bench, std::uint32_t flips = 0);
  CudaBench::Launch launch() const;
  Work work() const;
  void report(CudaBench& bench) const;
  const Differences& differences() const { return differences_; }

 private:
  std::uint64_t seed_;
  std::uint32_t flips_;
  unsigned blocks_;
  std::size_t bytes_;  // of a block
  Differences differences_;
  mutable std::uint64_t launches_ = 0;
};

}  // namespace peakline::bench

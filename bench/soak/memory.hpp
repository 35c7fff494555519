#pragma once

// Memory filled with one pattern after the other; each is checked before it is replaced.

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/soak/differences.hpp"

namespace peakline::bench {

class PatternedMemory {
 public:
  // rounds: passes of a launch over each block's part; odd.
  PatternedMemory(CudaBench& bench, std::size_t bytes, unsigned rounds);

  // Moving inversions: each launch checks what the previous one wrote. A pattern, its inverse, the
  // pattern again, upward and downward in turn, then the next pattern.
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
  mutable std::uint64_t step_ = 0;  // launches enqueued; each depends on its number
};

// Shared memory of every SM. flips: bits to break, for tests.
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
  std::size_t bytes_;  // per block
  Differences differences_;
  mutable std::uint64_t launches_ = 0;
};

}  // namespace peakline::bench

#pragma once

// Declares what a host benchmark function gets. bench.hpp has the part shared with the GPU.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/host/affinity.hpp"
#include "harness/host/sampler.hpp"

namespace peakline::bench {

class HostBench : public Bench {
 public:
  using Bench::Bench;

  // Bound threads, kept between points as long as their number stays the same; asking for another
  // number ends them.
  host::Team& team(int threads);

  // Measures by the rule of the point and fills the record. `launch` is the part of one thread in
  // one launch; `work` is the work of all threads together.
  void measure(const Work& work, const host::Team::Part& launch, int threads);
};

// Arrays far larger than the caches, cut into one slice per thread; a slice is placed on its
// thread's NUMA node when the thread first writes it.
class HostArrays {
 public:
  // Takes in total 4 times the last-level caches that the threads reach, but at most a quarter of
  // the free memory. Slices are of equal size, a multiple of `granule` bytes. Skips the point if
  // that is so little that the caches would hold half of it.
  HostArrays(HostBench& bench, int arrays, int threads, std::size_t granule);

  template <class T>
  T* slice(int array, int thread) const {
    return reinterpret_cast<T*>(buffers_[static_cast<std::size_t>(array)].as<std::byte>() +
                                static_cast<std::size_t>(thread) * slice_bytes_);
  }
  std::size_t slice_bytes() const { return slice_bytes_; }
  // Bytes of one array.
  std::size_t array_bytes() const { return slice_bytes_ * static_cast<std::size_t>(threads_); }

  void describe(HostBench& bench) const;

 private:
  std::vector<host::HostBuffer> buffers_;
  int threads_ = 0;
  std::size_t slice_bytes_ = 0;
  double cache_bytes_ = 0;
};

// Random 64-bit words as a function of seed and place, so that each thread can fill its own slice.
// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
inline std::uint64_t random_word(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace peakline::bench

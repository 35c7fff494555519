#pragma once

// Declares what a host benchmark function gets. bench.hpp has the part shared with the GPU.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/host/affinity.hpp"
#include "harness/host/random_word.hpp"
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

  // Calls again and again for as long as the point's load lasts; `call` returns when its work is
  // done. before: untimed, ahead of each call.
  void measure_calls(const Work& work, const std::function<void()>& call,
                     const std::function<void()>& before = {});
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

using host::random_word;

}  // namespace peakline::bench

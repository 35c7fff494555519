#pragma once

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

  // Bound threads, kept between points; another number replaces them.
  host::Team& team(int threads);

  // Measures by the point's timing. launch: one thread's part of a launch; work: of all threads.
  void measure(const Work& work, const host::Team::Part& launch, int threads);

  // Repeats `call`, which waits for its work, while the point's load lasts. before: untimed.
  void measure_calls(const Work& work, const std::function<void()>& call,
                     const std::function<void()>& before = {});
};

// Arrays far larger than the caches; each thread's slice is on its own NUMA node.
class HostArrays {
 public:
  // In total 4 times the threads' last-level caches, at most a quarter of free memory. Slices are
  // equal multiples of `granule` bytes. Skips the point if the caches could hold half of it.
  HostArrays(HostBench& bench, int arrays, int threads, std::size_t granule);

  template <class T>
  T* slice(int array, int thread) const {
    return reinterpret_cast<T*>(buffers_[static_cast<std::size_t>(array)].as<std::byte>() +
                                static_cast<std::size_t>(thread) * slice_bytes_);
  }
  std::size_t slice_bytes() const { return slice_bytes_; }
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

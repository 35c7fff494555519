#pragma once

// Device data for the inputs and the verification of benchmarks.

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/resources.hpp"
#include "kernels/fill.cuh"
#include "kernels/reference.cuh"

namespace peakline::bench {

// Kernels that accept any grid get many waves, so that none of them is long.
inline constexpr unsigned kAnyBlocks = 4096;
inline constexpr unsigned kAnyThreads = 256;

// x = x * factor + addend swings between two distant values throughout a launch. It neither grows
// nor converges; if it did converge, bits would stop toggling and save power. The significand of
// the factor is all ones, the worst case for a multiplier.
inline constexpr double kFmaFactor = -(1 - 0x1p-17);
inline constexpr double kFmaAddend = 1.3719;

// `count` random words.
inline cuda::DeviceBuffer<std::uint32_t> random_words(std::size_t count, std::uint64_t seed) {
  cuda::DeviceBuffer<std::uint32_t> words(count);
  kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(words.data(), count, seed);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  return words;
}

// `count` standard normal numbers.
template <class T>
cuda::DeviceBuffer<T> random_normal(std::size_t count, std::uint64_t seed) {
  cuda::DeviceBuffer<T> numbers(count);
  kernels::fill_normal<<<kAnyBlocks, kAnyThreads>>>(numbers.data(), count, seed);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  return numbers;
}

// Fills the buffer with NaN or -1, which no correct result contains, so that elements a kernel
// leaves out show up. Enqueued on the stream.
template <class T>
void poison(const cuda::DeviceBuffer<T>& buffer, cudaStream_t stream) {
  PEAKLINE_CUDA(cudaMemsetAsync(buffer.data(), 0xff, buffer.size() * sizeof(T), stream));
}

// A value on the device that kernels add to, 0 at first.
template <class T>
class Accumulator {
 public:
  Accumulator() : value_(1) { reset(); }
  T* data() const { return value_.data(); }
  void reset() const { value_.from_host(std::vector<T>{T{}}); }
  T get() const { return value_.to_host()[0]; }

 private:
  cuda::DeviceBuffer<T> value_;
};

// The XOR of `count` words, by a plain kernel.
inline std::uint32_t xor_of(const std::uint32_t* data, std::size_t count) {
  const Accumulator<std::uint32_t> sum;
  kernels::reference_xor<<<kAnyBlocks, kAnyThreads>>>(data, count, 1, 1, sum.data());
  return sum.get();
}

// Runs a reference kernel that counts differences and reports their number ("" for none).
template <class Reference>
std::string count_differences(const char* what, Reference launch) {
  Accumulator<unsigned long long> differences;
  launch(differences.data());
  const unsigned long long count = differences.get();
  return count == 0 ? "" : std::string(what) + ": " + std::to_string(count) + " words differ";
}

}  // namespace peakline::bench

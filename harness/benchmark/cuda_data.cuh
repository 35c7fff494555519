#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/resources.hpp"
#include "kernels/fill.cuh"
#include "kernels/reference.cuh"

namespace peakline::bench {

// For kernels that accept any grid: many short waves.
inline constexpr unsigned kAnyBlocks = 4096;
inline constexpr unsigned kAnyThreads = 256;

// x = x * factor + addend alternates between two distant values: it neither grows nor converges,
// which would stop bits toggling and save power. The factor's significand is all ones, a
// multiplier's worst case.
inline constexpr double kFmaFactor = -(1 - 0x1p-17);
inline constexpr double kFmaAddend = 1.3719;

inline cuda::DeviceBuffer<std::uint32_t> random_words(std::size_t count, std::uint64_t seed) {
  cuda::DeviceBuffer<std::uint32_t> words(count);
  kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(words.data(), count, seed);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  return words;
}

template <class T>
cuda::DeviceBuffer<T> random_normal(std::size_t count, std::uint64_t seed) {
  cuda::DeviceBuffer<T> numbers(count);
  kernels::fill_normal<<<kAnyBlocks, kAnyThreads>>>(numbers.data(), count, seed);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  return numbers;
}

// Fills the buffer with NaN or -1, which no correct result contains, to expose elements that a
// kernel omits. Enqueued.
template <class T>
void poison(const cuda::DeviceBuffer<T>& buffer, cudaStream_t stream) {
  PEAKLINE_CUDA(cudaMemsetAsync(buffer.data(), 0xff, buffer.size() * sizeof(T), stream));
}

// A device value, initially 0, that kernels add to.
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

inline std::uint32_t xor_of(const std::uint32_t* data, std::size_t count) {
  const Accumulator<std::uint32_t> sum;
  kernels::reference_xor<<<kAnyBlocks, kAnyThreads>>>(data, count, 1, 1, sum.data());
  return sum.get();
}

// Runs a reference kernel that counts differences; returns their number as text, "" for none.
template <class Reference>
std::string count_differences(const char* what, Reference launch) {
  Accumulator<unsigned long long> differences;
  launch(differences.data());
  const unsigned long long count = differences.get();
  return count == 0 ? "" : std::string(what) + ": " + std::to_string(count) + " words differ";
}

}  // namespace peakline::bench

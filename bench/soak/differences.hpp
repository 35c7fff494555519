#pragma once

// The log of the verifying soak: words on the device that differ from their expected value.

#include <cstdint>
#include <functional>
#include <string>

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/resources.hpp"
#include "kernels/differences.cuh"

namespace peakline::bench {

// A log in device memory, empty at first.
class Differences {
 public:
  Differences();
  // The load that `bench` measures next is what moments count from. This must outlive it.
  void count_from_load(CudaBench& bench) const;
  kernels::DifferenceLog* data() const { return log_.data(); }
  // Waits for the device.
  kernels::DifferenceLog read() const { return log_.to_host()[0]; }

 private:
  cuda::DeviceBuffer<kernels::DifferenceLog> log_{1};
};

// Whether the words of a log must be equal bit for bit, or be near as values (FP32).
enum class Words { kBits, kValues };
// Says in the record of a measurement that has ended whether its results are right: how many words
// were compared, and of those that differ how many there are, which bits, when, and where the first
// one is.
void report_differences(CudaBench& bench, const kernels::DifferenceLog& log, double compared_words,
                        const std::function<std::string(const kernels::Difference&)>& place_of,
                        Words words = Words::kBits);
// "byte 0x40 of a copy": where that word of 32 bits begins.
std::string byte_of(std::uint64_t word, const std::string& what);
// The difference that was seen first; the log has one.
const kernels::Difference& first_of(const kernels::DifferenceLog& log);

}  // namespace peakline::bench

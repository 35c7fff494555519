#pragma once

// Log of the verifying soak: words on the device that differ from their expected values.

#include <cstdint>
#include <functional>
#include <string>

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/resources.hpp"
#include "kernels/differences.cuh"

namespace peakline::bench {

class Differences {
 public:
  Differences();
  // Moments count from the load that `bench` measures next. `this` must outlive that load.
  void count_from_load(CudaBench& bench) const;
  kernels::DifferenceLog* data() const { return log_.data(); }
  // Waits for the device.
  kernels::DifferenceLog read() const { return log_.to_host()[0]; }

 private:
  cuda::DeviceBuffer<kernels::DifferenceLog> log_{1};
};

// Words of a log are compared bit for bit, or as FP32 values with a tolerance.
enum class Words { kBits, kValues };
// Reports, once a measurement has ended, how many words were compared and how many differ, in which
// bits, when, and the place of the first.
void report_differences(CudaBench& bench, const kernels::DifferenceLog& log, double compared_words,
                        const std::function<std::string(const kernels::Difference&)>& place_of,
                        Words words = Words::kBits);
// "byte 0x40 of a copy": where this 32-bit word begins.
std::string byte_of(std::uint64_t word, const std::string& what);
// The earliest difference; the log must not be empty.
const kernels::Difference& first_of(const kernels::DifferenceLog& log);

}  // namespace peakline::bench

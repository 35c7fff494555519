#pragma once

// Physical limits: what a measurement cannot exceed unless it is broken.

#include <initializer_list>
#include <optional>
#include <string>

#include "harness/values/benchmark.hpp"

namespace peakline {

// Below these sizes caches (the GPU's L2) and fixed costs (of a copy) still show in a bandwidth, so
// smaller points belong to a curve and never become a ceiling.
inline constexpr double kCeilingFootprintBytes = 2.0 * 1024 * 1024 * 1024;
inline constexpr double kCeilingCopyBytes = 256.0 * 1024 * 1024;

// States that nothing bounds it, and why: "a time has no upper limit".
Limit no_limit(std::string why);
// States that nothing may exceed `limit`, which is no peak of what is measured, and why: no
// theoretical ceiling comes from it.
Limit only_bound(Limit limit, std::string why);
// Memory clock and bus width.
Limit device_memory_bandwidth();
// Bytes/clk x SMs x the maximum SM clock, of the L1 and shared memory of the SMs.
Limit on_chip_bandwidth();
// The raw rate of the PCIe link as read under load, else of its maximum, in one direction or both;
// of a GPU whose copies take NVLink-C2C, none.
Limit pcie_link(int directions);
// The raw rate of NVLink-C2C, as the driver states it.
Limit c2c_link(int directions);
// The rate of the link between the GPU and host memory.
Limit host_link(int directions);
// The rate of the NVLinks between the two GPUs of a pair or, for more GPUs, of as many as the
// parameter `gpus` says; in one direction or both.
Limit nvlink(int directions);
// Like nvlink(). Without NVLinks, it is the raw rate of the measuring GPU's PCIe link at its
// maximum, times the GPUs.
Limit peer_link(int directions);
// ops/clk x SMs x the maximum SM clock, of the first of these resources that the device has.
Limit compute_peak(std::initializer_list<const char*> resources);
// The documented results per clock of the instruction that the parameter `op` names x SMs x the
// maximum SM clock.
Limit instruction_rate();
// The limit is this number of operations per clock x SMs x the maximum SM clock.
Limit per_clock_per_sm(double operations);
// The lower of the compute peak and intensity x memory bandwidth.
Limit under_roofline(const char* compute);

// The highest rate at which the measurement can have run: its limit at the highest SM clock that
// the device is known to run at, and kPlausibleMargin (harness/statistics/sm_clock.hpp). nullopt
// where none is known, and for a measurement of the host.
std::optional<double> plausible_limit(const Benchmark& benchmark, const Measurement& measurement,
                                      const DeviceFacts& device);

// Whether the value is above the limit of its benchmark. False if that is unknown.
bool implausible(const Measurement& measurement, const DeviceFacts& device, Benchmarks benchmarks);

// Whether the value is more than the limit would be at this SM clock, by more than that margin, so
// that the clock is wrong. False for limits that do not depend on it.
bool exceeds_at_clock(double value, const PhysicalLimit& limit, double clock_hz);

}  // namespace peakline

#pragma once

// Physical limits, which only broken measurements exceed.

#include <initializer_list>
#include <optional>
#include <string>

#include "harness/conclude/benchmark.hpp"

namespace peakline {

// Smaller sizes show caches (the GPU's L2) or fixed costs (of copies), so they belong to a curve
// and never become ceilings.
inline constexpr double kCeilingFootprintBytes = 2.0 * 1024 * 1024 * 1024;
inline constexpr double kCeilingCopyBytes = 256.0 * 1024 * 1024;

// Nothing bounds it, and why: "a time has no upper limit".
Limit no_limit(std::string why);
// A bound that is no peak, and why; it gives no theoretical ceiling.
Limit only_bound(Limit limit, std::string why);
// Memory clock x bus width.
Limit device_memory_bandwidth();
// Bytes/clk x SMs x maximum SM clock, for L1 and shared memory.
Limit on_chip_bandwidth();
// Raw rate of the PCIe link, read under load or at its maximum, for one or both directions; none if
// copies take NVLink-C2C.
Limit pcie_link(int directions);
// Raw rate of NVLink-C2C by the driver.
Limit c2c_link(int directions);
Limit host_link(int directions);
// NVLinks between a pair, or of `gpus` GPUs (parameter), in one or both directions.
Limit nvlink(int directions);
// Like nvlink(); without NVLinks, the measuring GPU's PCIe link at its maximum, times the GPUs.
Limit peer_link(int directions);
// ops/clk x SMs x maximum SM clock, of the first of these resources that the device has.
Limit compute_peak(std::initializer_list<const char*> resources);
// count x SMs x maximum SM clock.
Limit per_clock_per_sm(double count, const char* what = "ops");

// The highest plausible rate: the limit at the device's highest known SM clock, times
// kPlausibleMargin (harness/statistics/sm_clock.hpp). nullopt if unknown, and for the host.
std::optional<double> plausible_limit(const Benchmark& benchmark, const Measurement& measurement,
                                      const DeviceFacts& device);

// Whether the value exceeds its limit; false if unknown.
bool implausible(const Measurement& measurement, const DeviceFacts& device, Benchmarks benchmarks);

// Whether the value exceeds the limit at this SM clock by more than that margin, so that the clock
// must be wrong. False for limits that do not depend on it.
bool exceeds_at_clock(double value, const PhysicalLimit& limit, double clock_hz);

}  // namespace peakline

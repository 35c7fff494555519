#pragma once

// From measurements to ceilings and rooflines: pure functions.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/profile.hpp"

namespace peakline {

// Below these sizes caches (the GPU's L2) and fixed costs (of a copy) still show in a bandwidth, so
// smaller points belong to a curve and never become a ceiling.
inline constexpr double kCeilingFootprintBytes = 2.0 * 1024 * 1024 * 1024;
inline constexpr double kCeilingCopyBytes = 256.0 * 1024 * 1024;

// What a ceiling is a limit of, and how it was found.
struct CeilingKey {
  std::string resource;
  Basis basis = Basis::kMeasured;
  bool operator==(const CeilingKey&) const = default;
};

// The ceiling that a measurement stands for if it is sound: "fma.fp32/load:burst" for the burst row
// of cuda_core.fp32. nullopt for what never gives one: curves, FP8 with other operands or sums than
// e4m3 with fast ones, and sizes too small. `device` is nullptr for the host.
std::optional<CeilingKey> ceiling_key(const Measurement& measurement, const DeviceFacts* device);

// Every ceiling that the measurements and the device facts support, grouped by device, resources in
// the order shown, bases in the order theoretical, datasheet, instruction, measured, burst,
// sustained, model_shaped. Measurements that failed, are flagged implausible, were not verified
// although asked to be, have fewer than six blocks, or (for memory) ran below 2 GiB (and for PCIe
// below 256 MiB) give none. Of several, the highest of those that were sampled with the full rule.
std::vector<Ceiling> derive_ceilings(const Profile& profile);

// One per device that has at least one memory and one compute ceiling. Ridge points: compute
// ceiling / bandwidth ceiling, for the measured, burst and sustained bases.
std::vector<Roofline> derive_rooflines(const Profile& profile, std::span<const Ceiling> ceilings);

// The rate of a compute resource at a clock, FLOP/s: theoretical_flops, where a matrix product in
// FP32 ("gemm.fp32") runs on the CUDA cores.
std::optional<double> theoretical_peak(const DeviceFacts& device, std::string_view resource,
                                       double clock_hz);

// The highest rate at which the measurement could physically have run (design, Statistics):
// 1.005 x (ops/clk x SMs x maximum SM clock; memory-clock bandwidth; the PCIe link's raw rate).
// For a roofline sweep the lower of compute and intensity x bandwidth. nullopt where no limit is
// known for it.
std::optional<double> plausible_limit(const Measurement& measurement, const DeviceFacts& device);

// The row for (device, resource, basis); nullptr where there is none.
const Ceiling* find_ceiling(std::span<const Ceiling> ceilings, std::string_view device,
                            std::string_view resource, Basis basis);

}  // namespace peakline

#include "harness/core/spec.hpp"

#include <algorithm>
#include <array>

#include "harness/core/resources.hpp"

namespace peakline {
namespace {

// Operations per clock and SM, by column of kSmUnits, FMA = 2; 0: no such unit. Only what
// NVIDIA documents: 8.7, 10.3, 11.0 and 12.1 are left out rather than taken for a neighbour.
struct Architecture {
  int major, minor;
  bool geforce;          // whether GeForce parts have this compute capability too
  double on_chip_bytes;  // per clock and SM
  std::array<double, kSmUnits.size()> ops;
};
constexpr auto kArchitectures = std::to_array<Architecture>({
    {7, 5, true, 64, {4, 128, 256, 0, 0, 1024, 0, 0, 2048, 0}},
    {8, 0, false, 128, {64, 128, 512, 128, 1024, 2048, 2048, 0, 4096, 0}},
    {8, 6, true, 128, {4, 256, 256, 0, 512, 1024, 1024, 0, 2048, 0}},
    {8, 9, true, 128, {4, 256, 256, 0, 512, 1024, 1024, 2048, 2048, 0}},
    {9, 0, false, 128, {128, 256, 512, 256, 2048, 4096, 4096, 8192, 8192, 0}},
    {10, 0, false, 128, {128, 256, 256, 128, 4096, 8192, 8192, 16384, 16384, 32768}},
    {12, 0, true, 128, {4, 256, 256, 0, 512, 1024, 1024, 2048, 2048, 4096}},
});

// GeForce parts run these, with sums in FP32, at half the rate or less.
constexpr std::array<std::string_view, 4> kSlowerOnGeforce = {"tensor.tf32", "tensor.fp16",
                                                              "tensor.bf16", "tensor.fp8"};

// Giga transfers per second and lane, by generation.
constexpr std::array kPcieTransfers = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
constexpr std::array kPcieWidths = {1, 2, 4, 8, 12, 16, 32};

const Architecture* find_architecture(int major, int minor) {
  const auto found = std::ranges::find_if(
      kArchitectures, [&](const Architecture& a) { return a.major == major && a.minor == minor; });
  return found == kArchitectures.end() ? nullptr : &*found;
}

double pcie_coding_efficiency(int generation) {
  if (generation <= 2) return 8.0 / 10.0;
  if (generation <= 5) return 128.0 / 130.0;
  return 242.0 / 256.0;
}

}  // namespace

std::optional<OpsPerClock> ops_per_clock_per_sm(int compute_major, int compute_minor,
                                                std::string_view resource) {
  const auto unit = std::ranges::find(kSmUnits, peak_resource(resource));
  const Architecture* architecture = find_architecture(compute_major, compute_minor);
  if (unit == kSmUnits.end() || architecture == nullptr) return std::nullopt;
  const double ops = architecture->ops[static_cast<std::size_t>(unit - kSmUnits.begin())];
  if (ops == 0) return std::nullopt;
  const bool uncertain = architecture->geforce &&
                         std::ranges::find(kSlowerOnGeforce, resource) != kSlowerOnGeforce.end();
  return OpsPerClock{.ops = ops, .uncertain = uncertain};
}

std::optional<double> theoretical_flops(const DeviceFacts& device, std::string_view resource,
                                        double clock_hz) {
  const auto rate = ops_per_clock_per_sm(device.compute_major, device.compute_minor, resource);
  if (!rate || !device.sm_count) return std::nullopt;
  return rate->ops * *device.sm_count * clock_hz;
}

std::optional<double> on_chip_bytes_per_clock_per_sm(int compute_major, int compute_minor) {
  const Architecture* architecture = find_architecture(compute_major, compute_minor);
  if (architecture == nullptr) return std::nullopt;
  return architecture->on_chip_bytes;
}

std::optional<double> theoretical_memory_bandwidth(const DeviceFacts& device) {
  if (!device.memory_clock_max_hz || !device.memory_bus_bits) return std::nullopt;
  return 2 * *device.memory_clock_max_hz * *device.memory_bus_bits / 8;
}

std::optional<double> pcie_raw_bandwidth(int generation, int width) {
  if (generation < 1 || generation > static_cast<int>(kPcieTransfers.size())) return std::nullopt;
  if (std::ranges::find(kPcieWidths, width) == kPcieWidths.end()) return std::nullopt;
  return kPcieTransfers[static_cast<std::size_t>(generation - 1)] * width / 8 *
         pcie_coding_efficiency(generation);
}

}  // namespace peakline

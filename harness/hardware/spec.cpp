#include "harness/hardware/spec.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/values/resources.hpp"

namespace peakline {
namespace {

// Operations per clock and SM, by column of kSmUnits, FMA = 2; 0: no such unit. NVIDIA does not
// document 8.7, 10.3, 11.0 and 12.1, which are omitted rather than guessed.
struct Architecture {
  int major, minor;
  bool geforce;          // GeForce parts have it too
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

// Results per clock and SM, by instruction and architecture (as in kArchitectures); 0: unknown.
struct InstructionRate {
  std::string_view op;
  std::array<double, kArchitectures.size()> results;
};
constexpr auto kInstructionRates = std::to_array<InstructionRate>({
    // 7.5, 8.0, 8.6, 8.9, 9.0, 10.0, 12.0
    {"int32_add", {64, 64, 64, 64, 64, 0, 128}},
    {"int32_mad", {64, 64, 64, 64, 64, 0, 64}},
    {"int32_shift", {64, 64, 64, 64, 64, 0, 64}},
    {"int32_logic", {64, 64, 64, 64, 64, 0, 64}},
    {"rcp", {16, 16, 16, 16, 16, 16, 16}},
    {"rsqrt", {16, 16, 16, 16, 16, 16, 16}},
    {"sin", {16, 16, 16, 16, 16, 16, 16}},
    {"ex2", {16, 16, 16, 16, 16, 16, 16}},
    {"lg2", {16, 16, 16, 16, 16, 16, 16}},
    {"f16_to_f32", {0, 0, 0, 0, 64, 0, 64}},
    {"i32_to_f32", {0, 0, 0, 0, 64, 0, 0}},
    {"f32_to_f64", {2, 16, 2, 2, 16, 0, 0}},
    {"f64_to_f32", {2, 16, 2, 2, 16, 0, 0}},
    {"shuffle", {32, 32, 32, 32, 32, 0, 32}},
    {"vote", {0, 64, 64, 64, 64, 0, 128}},
    {"reduce", {0, 16, 16, 16, 16, 0, 0}},
    {"ldmatrix", {4, 8, 8, 8, 8, 8, 8}},
});
// Arithmetic runs at the rate of multiply-adds, in which peaks are stated.
constexpr auto kUnitOfArithmetic = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"fp32_", "cuda_core.fp32"}, {"fp64_", "cuda_core.fp64"}, {"fp16x2_", "cuda_core.fp16"}});
constexpr double kFlopsOfMultiplyAdd = 2;

// Transfers per second and lane, by generation.
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
  const bool uncertain =
      architecture->geforce && std::ranges::find(kSumsInFp32, resource) != kSumsInFp32.end();
  return OpsPerClock{.ops = ops, .uncertain = uncertain};
}

std::optional<double> theoretical_flops(const DeviceFacts& device, std::string_view resource,
                                        double clock_hz) {
  const auto rate = ops_per_clock_per_sm(device.compute_major, device.compute_minor, resource);
  if (!rate || device.sm_count.value_or(0) <= 0) return std::nullopt;
  return rate->ops * *device.sm_count * clock_hz;
}

std::optional<double> on_chip_bytes_per_clock_per_sm(int compute_major, int compute_minor) {
  const Architecture* architecture = find_architecture(compute_major, compute_minor);
  if (architecture == nullptr) return std::nullopt;
  return architecture->on_chip_bytes;
}

std::optional<double> results_per_clock_per_sm(int compute_major, int compute_minor,
                                               std::string_view op) {
  for (const auto& [prefix, unit] : kUnitOfArithmetic) {
    if (!op.starts_with(prefix)) continue;
    const auto flops = ops_per_clock_per_sm(compute_major, compute_minor, unit);
    return flops ? std::optional(flops->ops / kFlopsOfMultiplyAdd) : std::nullopt;
  }
  const Architecture* architecture = find_architecture(compute_major, compute_minor);
  const auto rate = std::ranges::find(kInstructionRates, op, &InstructionRate::op);
  if (architecture == nullptr || rate == kInstructionRates.end()) return std::nullopt;
  const double results =
      rate->results[static_cast<std::size_t>(architecture - kArchitectures.data())];
  return results > 0 ? std::optional(results) : std::nullopt;
}

std::optional<double> sm_clock_step(const DeviceFacts& device) {
  // Drivers list steps of 7.5 to 15 MHz; a wider one is a gap in the list.
  constexpr double kWidestShare = 0.02;
  const auto& listed_hz = device.sm_clock_step_hz;
  const double widest_hz = kWidestShare * device.sm_clock_max_hz.value_or(0);
  if (listed_hz && *listed_hz > 0 && *listed_hz <= widest_hz) return listed_hz;
  const int capability = 10 * device.compute_major + device.compute_minor;
  for (const int steps_of_15_mhz : {80, 90})  // `nvidia-smi -q -d SUPPORTED_CLOCKS`
    if (capability == steps_of_15_mhz) return 15e6;
  return std::nullopt;
}

std::string_view memory_name(const DeviceFacts& device) {
  const int capability = 10 * device.compute_major + device.compute_minor;
  for (const int hbm : {80, 90, 100, 103})
    if (capability == hbm) return "HBM";
  for (const int gddr : {75, 86, 89, 120})
    if (capability == gddr) return "GDDR";
  for (const int lpddr : {87, 110, 121})
    if (capability == lpddr) return "LPDDR";
  return kAnyMemory;
}

std::optional<double> theoretical_memory_bandwidth(const DeviceFacts& device) {
  if (device.memory_clock_max_hz.value_or(0) <= 0 || device.memory_bus_bits.value_or(0) <= 0)
    return std::nullopt;
  if (is_mig_instance(device)) return std::nullopt;  // its share of the bus is unknown
  if (device.integrated.value_or(false)) return std::nullopt;
  return 2 * *device.memory_clock_max_hz * *device.memory_bus_bits / 8;
}

std::optional<double> nvlink_payload_bandwidth(int version) {
  constexpr std::array kGigabytes = {20, 25, 25, 25, 50};
  if (version < 1 || version > std::ssize(kGigabytes)) return std::nullopt;
  return kGigabytes[static_cast<std::size_t>(version) - 1] * 1e9;
}

std::optional<double> nvlink_payload_bandwidth(const NvLinks& links) {
  if (!links.version || !links.bytes_per_s) return std::nullopt;
  const auto payload = nvlink_payload_bandwidth(*links.version);
  return payload ? std::optional(std::min(*payload, *links.bytes_per_s)) : std::nullopt;
}

std::optional<double> pcie_raw_bandwidth(int generation, int width) {
  if (generation < 1 || generation > static_cast<int>(kPcieTransfers.size())) return std::nullopt;
  if (std::ranges::find(kPcieWidths, width) == kPcieWidths.end()) return std::nullopt;
  return kPcieTransfers[static_cast<std::size_t>(generation - 1)] * width / 8 *
         pcie_coding_efficiency(generation);
}

}  // namespace peakline

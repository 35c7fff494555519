#include "harness/core/spec.hpp"

#include <algorithm>
#include <array>

namespace peakline {
namespace {

constexpr std::array<std::string_view, 10> kResources = {
    "cuda_core.fp64", "cuda_core.fp32", "cuda_core.fp16", "tensor.fp64", "tensor.tf32",
    "tensor.fp16",    "tensor.bf16",    "tensor.fp8",     "tensor.int8", "tensor.fp4"};

constexpr double kNone = 0;

struct Rate {
  double ops = kNone;  // per clock and SM, FMA = 2
  bool uncertain = false;
};

// GeForce parts run this at half the rate or less (with FP32 accumulation), under the same compute
// capability.
constexpr Rate geforce_slower(double ops) { return Rate{ops, true}; }

struct Architecture {
  int major, minor;
  std::array<Rate, kResources.size()> rates;  // in the order of kResources
};

// Only what NVIDIA documents: 8.7, 10.3, 11.0 and 12.1 are left out rather than taken for a
// neighbour.
constexpr std::array kArchitectures = {
    Architecture{7,
                 5,
                 {Rate{4}, Rate{128}, Rate{256}, Rate{}, Rate{}, geforce_slower(1024), Rate{},
                  Rate{}, Rate{2048}, Rate{}}},
    Architecture{8,
                 0,
                 {Rate{64}, Rate{128}, Rate{512}, Rate{128}, Rate{1024}, Rate{2048}, Rate{2048},
                  Rate{}, Rate{4096}, Rate{}}},
    Architecture{8,
                 6,
                 {Rate{4}, Rate{256}, Rate{256}, Rate{}, geforce_slower(512), geforce_slower(1024),
                  geforce_slower(1024), Rate{}, Rate{2048}, Rate{}}},
    Architecture{8,
                 9,
                 {Rate{4}, Rate{256}, Rate{256}, Rate{}, geforce_slower(512), geforce_slower(1024),
                  geforce_slower(1024), geforce_slower(2048), Rate{2048}, Rate{}}},
    Architecture{9,
                 0,
                 {Rate{128}, Rate{256}, Rate{512}, Rate{256}, Rate{2048}, Rate{4096}, Rate{4096},
                  Rate{8192}, Rate{8192}, Rate{}}},
    Architecture{10,
                 0,
                 {Rate{128}, Rate{256}, Rate{256}, Rate{128}, Rate{4096}, Rate{8192}, Rate{8192},
                  Rate{16384}, Rate{16384}, Rate{32768}}},
    Architecture{12,
                 0,
                 {Rate{4}, Rate{256}, Rate{256}, Rate{}, geforce_slower(512), geforce_slower(1024),
                  geforce_slower(1024), geforce_slower(2048), Rate{2048}, Rate{4096}}},
};

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;

constexpr DatasheetFigure flops(std::string_view resource, double tflops, double mhz) {
  return {resource, tflops * kTera, mhz * kMega};
}
constexpr DatasheetFigure memory(double gb_per_s) { return {"hbm", gb_per_s * kGiga, 0}; }

constexpr std::array kT4 = {flops("cuda_core.fp32", 8.1, 1590), flops("tensor.fp16", 65, 1590),
                            flops("tensor.int8", 130, 1590)};

constexpr std::array kA10 = {flops("cuda_core.fp32", 31.2, 1695), flops("tensor.tf32", 62.5, 1695),
                             flops("tensor.fp16", 125, 1695),     flops("tensor.bf16", 125, 1695),
                             flops("tensor.int8", 250, 1695),     memory(600)};

constexpr std::array kA30 = {
    flops("cuda_core.fp64", 5.2, 1440), flops("cuda_core.fp32", 10.3, 1440),
    flops("tensor.fp64", 10.3, 1440),   flops("tensor.tf32", 82, 1440),
    flops("tensor.fp16", 165, 1440),    flops("tensor.bf16", 165, 1440),
    flops("tensor.int8", 330, 1440),    memory(933)};

constexpr std::array kA40 = {flops("cuda_core.fp32", 37.4, 1740), flops("tensor.tf32", 74.8, 1740),
                             flops("tensor.fp16", 149.7, 1740),   flops("tensor.bf16", 149.7, 1740),
                             flops("tensor.int8", 299.3, 1740),   memory(696)};

constexpr std::array<DatasheetFigure, 8> a100(double gb_per_s) {
  return {flops("cuda_core.fp64", 9.7, 1410), flops("cuda_core.fp32", 19.5, 1410),
          flops("tensor.fp64", 19.5, 1410),   flops("tensor.tf32", 156, 1410),
          flops("tensor.fp16", 312, 1410),    flops("tensor.bf16", 312, 1410),
          flops("tensor.int8", 624, 1410),    memory(gb_per_s)};
}
constexpr auto kA100With40Gb = a100(1555);
constexpr auto kA100Sxm80Gb = a100(2039);
constexpr auto kA100Pcie80Gb = a100(1935);

constexpr std::array kL4 = {flops("cuda_core.fp32", 30.3, 2040), flops("tensor.fp16", 121, 2040),
                            flops("tensor.bf16", 121, 2040),     flops("tensor.fp8", 242.5, 2040),
                            flops("tensor.int8", 242.5, 2040),   memory(300)};

// The dense FP16 figure is not half of the sparse one (733): it stands at a slightly lower clock.
constexpr std::array kL40s = {flops("cuda_core.fp32", 91.6, 2520),
                              flops("tensor.tf32", 183, 2520),
                              flops("tensor.fp16", 362.05, 2490),
                              flops("tensor.bf16", 362.05, 2490),
                              flops("tensor.fp8", 733, 2520),
                              flops("tensor.int8", 733, 2520),
                              memory(864)};

// Hopper's Tensor Core figures (FP64 apart) stand at a lower clock than its other figures (H100
// whitepaper, "GPU Boost Clock for Tensor Core Ops").
constexpr std::array<DatasheetFigure, 9> hopper_sxm(double gb_per_s) {
  return {flops("cuda_core.fp64", 33.5, 1980),
          flops("cuda_core.fp32", 66.9, 1980),
          flops("tensor.fp64", 66.9, 1980),
          flops("tensor.tf32", 494.7, 1830),
          flops("tensor.fp16", 989.4, 1830),
          flops("tensor.bf16", 989.4, 1830),
          flops("tensor.fp8", 1978.9, 1830),
          flops("tensor.int8", 1978.9, 1830),
          memory(gb_per_s)};
}
constexpr auto kH100Sxm = hopper_sxm(3350);
constexpr auto kH200Sxm = hopper_sxm(4800);
constexpr auto kGh200With96Gb = hopper_sxm(4000);

constexpr std::array kH100Pcie = {flops("cuda_core.fp64", 25.6, 1755),
                                  flops("cuda_core.fp32", 51.2, 1755),
                                  flops("tensor.fp64", 51.2, 1755),
                                  flops("tensor.tf32", 378, 1620),
                                  flops("tensor.fp16", 756, 1620),
                                  flops("tensor.bf16", 756, 1620),
                                  flops("tensor.fp8", 1513, 1620),
                                  flops("tensor.int8", 1513, 1620),
                                  memory(2000)};

// Stated without clocks.
constexpr std::array<DatasheetFigure, 9> hopper_nvl(double gb_per_s) {
  return {flops("cuda_core.fp64", 30, 0),
          flops("cuda_core.fp32", 60, 0),
          flops("tensor.fp64", 60, 0),
          flops("tensor.tf32", 417.5, 0),
          flops("tensor.fp16", 835.5, 0),
          flops("tensor.bf16", 835.5, 0),
          flops("tensor.fp8", 1670.5, 0),
          flops("tensor.int8", 1670.5, 0),
          memory(gb_per_s)};
}
constexpr auto kH100Nvl = hopper_nvl(3900);
constexpr auto kH200Nvl = hopper_nvl(4800);

// Of one GPU on the HGX board; stated sparse and without clocks. TF32 is left out: it is stated
// with two digits only.
constexpr std::array kB200 = {flops("cuda_core.fp64", 37, 0), flops("cuda_core.fp32", 75, 0),
                              flops("tensor.fp16", 2250, 0),  flops("tensor.bf16", 2250, 0),
                              flops("tensor.fp8", 4500, 0),   flops("tensor.int8", 4500, 0),
                              flops("tensor.fp4", 9000, 0),   memory(7700)};

constexpr std::array kDatasheets = {
    Datasheet{"T4", "Tesla T4", 7, 5, 40, kT4},
    Datasheet{"A10", "NVIDIA A10", 8, 6, 72, kA10},
    Datasheet{"A30", "NVIDIA A30", 8, 0, 56, kA30},
    Datasheet{"A40", "NVIDIA A40", 8, 6, 84, kA40},
    Datasheet{"A100 SXM 40 GB", "NVIDIA A100-SXM4-40GB", 8, 0, 108, kA100With40Gb},
    Datasheet{"A100 PCIe 40 GB", "NVIDIA A100-PCIE-40GB", 8, 0, 108, kA100With40Gb},
    Datasheet{"A100 SXM 80 GB", "NVIDIA A100-SXM4-80GB", 8, 0, 108, kA100Sxm80Gb},
    Datasheet{"A100 PCIe 80 GB", "NVIDIA A100 80GB PCIe", 8, 0, 108, kA100Pcie80Gb},
    Datasheet{"L4", "NVIDIA L4", 8, 9, 58, kL4},
    Datasheet{"L40S", "NVIDIA L40S", 8, 9, 142, kL40s},
    Datasheet{"H100 SXM", "NVIDIA H100 80GB HBM3", 9, 0, 132, kH100Sxm},
    Datasheet{"H100 PCIe", "NVIDIA H100 PCIe", 9, 0, 114, kH100Pcie},
    Datasheet{"H100 NVL", "NVIDIA H100 NVL", 9, 0, 132, kH100Nvl},
    Datasheet{"H200 SXM", "NVIDIA H200", 9, 0, 132, kH200Sxm},
    Datasheet{"H200 NVL", "NVIDIA H200 NVL", 9, 0, 132, kH200Nvl},
    Datasheet{"GH200 96 GB", "NVIDIA GH200 480GB", 9, 0, 132, kGh200With96Gb},
    Datasheet{"B200", "NVIDIA B200", 10, 0, 148, kB200},
};

// Giga transfers per second and lane, by generation.
constexpr std::array kPcieTransfers = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
constexpr std::array kPcieWidths = {1, 2, 4, 8, 12, 16, 32};

double pcie_coding_efficiency(int generation) {
  if (generation <= 2) return 8.0 / 10.0;
  if (generation <= 5) return 128.0 / 130.0;
  return 242.0 / 256.0;
}

}  // namespace

std::optional<OpsPerClock> ops_per_clock_per_sm(int compute_major, int compute_minor,
                                                std::string_view resource) {
  const auto name = std::ranges::find(kResources, resource);
  if (name == kResources.end()) return std::nullopt;
  const auto architecture = std::ranges::find_if(kArchitectures, [&](const Architecture& a) {
    return a.major == compute_major && a.minor == compute_minor;
  });
  if (architecture == kArchitectures.end()) return std::nullopt;
  const Rate& rate = architecture->rates[static_cast<std::size_t>(name - kResources.begin())];
  if (rate.ops == kNone) return std::nullopt;
  return OpsPerClock{rate.ops, rate.uncertain};
}

std::span<const std::string_view> compute_resources() { return kResources; }

std::string_view compute_unit(std::string_view resource) {
  return resource.find(".int") != std::string_view::npos ? "OP/s" : "FLOP/s";
}

std::optional<double> theoretical_flops(const DeviceFacts& device, std::string_view resource,
                                        double clock_hz) {
  const auto rate = ops_per_clock_per_sm(device.compute_major, device.compute_minor, resource);
  if (!rate || !device.sm_count) return std::nullopt;
  return rate->ops * *device.sm_count * clock_hz;
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

std::span<const Datasheet> datasheets() { return kDatasheets; }

const Datasheet* find_datasheet(const DeviceFacts& device) {
  for (const Datasheet& sheet : kDatasheets) {
    if (sheet.name != device.name) continue;
    const bool other_chip =
        sheet.compute_major != device.compute_major || sheet.compute_minor != device.compute_minor;
    const bool other_cut = device.sm_count && *device.sm_count != sheet.sm_count;
    return other_chip || other_cut || device.mig_enabled.value_or(false) ? nullptr : &sheet;
  }
  return nullptr;
}

const DatasheetFigure* datasheet_figure(const DeviceFacts& device, std::string_view resource) {
  const Datasheet* sheet = find_datasheet(device);
  if (sheet == nullptr) return nullptr;
  const auto figure = std::ranges::find(sheet->figures, resource, &DatasheetFigure::resource);
  return figure == sheet->figures.end() ? nullptr : &*figure;
}

}  // namespace peakline

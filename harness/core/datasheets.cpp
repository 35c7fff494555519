#include "harness/core/datasheets.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace peakline {
namespace {

constexpr std::array<std::string_view, 9> kColumns = {
    "cuda_core.fp64", "cuda_core.fp32", "tensor.fp64", "tensor.tf32", "tensor.fp16",
    "tensor.bf16",    "tensor.fp8",     "tensor.int8", "tensor.fp4"};

// The SM clocks behind a product's figures, MHz; 0: not stated.
struct Clocks {
  double vector;  // of CUDA cores and of FP64 on Tensor Cores
  double tensor;
  double half = tensor;  // of FP16 and BF16 on Tensor Cores
};

// TFLOP/s or TOP/s, in the order of kColumns; 0: not stated, or with too few digits.
using Rates = std::array<double, kColumns.size()>;

struct Row {
  std::string_view product, name;
  int compute_major, compute_minor, sm_count;
  double memory_gb_per_s;  // 0: not stated
  Clocks mhz;
  Rates rates;
};

constexpr Rates kA40 = {0, 37.4, 0, 74.8, 149.7, 149.7, 0, 299.3, 0};
constexpr Rates kA100 = {9.7, 19.5, 19.5, 156, 312, 312, 0, 624, 0};
constexpr Rates kHopperSxm = {33.5, 66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9, 0};
constexpr Rates kHopperNvl = {30, 60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 0};
constexpr Rates kH100Pcie = {25.6, 51.2, 51.2, 378, 756, 756, 1513, 1513, 0};
constexpr Rates kL40s = {0, 91.6, 0, 183, 362.05, 362.05, 733, 733, 0};
// Of one GPU on the HGX board; TF32 is left out, stated with two digits only.
constexpr Rates kB200 = {37, 75, 0, 0, 2250, 2250, 4500, 4500, 9000};

constexpr Clocks kNotStated = {0, 0};
// Hopper's Tensor Core figures stand at a lower clock than its other figures (H100 whitepaper, "GPU
// Boost Clock for Tensor Core Ops").
constexpr Clocks kHopperClocks = {1980, 1830};
// The dense FP16 figure is not half of the sparse one (733): it stands at a slightly lower clock.
constexpr Clocks kL40sClocks = {2520, 2520, 2490};

constexpr auto kRows = std::to_array<Row>({
    {"T4", "Tesla T4", 7, 5, 40, 0, {1590, 1590}, {0, 8.1, 0, 0, 65, 0, 0, 130, 0}},
    {"A10", "NVIDIA A10", 8, 6, 72, 600, {1695, 1695}, {0, 31.2, 0, 62.5, 125, 125, 0, 250, 0}},
    {"A30", "NVIDIA A30", 8, 0, 56, 933, {1440, 1440}, {5.2, 10.3, 10.3, 82, 165, 165, 0, 330, 0}},
    {"A40", "NVIDIA A40", 8, 6, 84, 696, {1740, 1740}, kA40},
    {"A100 SXM 40 GB", "NVIDIA A100-SXM4-40GB", 8, 0, 108, 1555, {1410, 1410}, kA100},
    {"A100 PCIe 40 GB", "NVIDIA A100-PCIE-40GB", 8, 0, 108, 1555, {1410, 1410}, kA100},
    {"A100 SXM 80 GB", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 2039, {1410, 1410}, kA100},
    {"A100 PCIe 80 GB", "NVIDIA A100 80GB PCIe", 8, 0, 108, 1935, {1410, 1410}, kA100},
    {"L4", "NVIDIA L4", 8, 9, 58, 300, {2040, 2040}, {0, 30.3, 0, 0, 121, 121, 242.5, 242.5, 0}},
    {"L40S", "NVIDIA L40S", 8, 9, 142, 864, kL40sClocks, kL40s},
    {"H100 SXM", "NVIDIA H100 80GB HBM3", 9, 0, 132, 3350, kHopperClocks, kHopperSxm},
    {"H100 PCIe", "NVIDIA H100 PCIe", 9, 0, 114, 2000, {1755, 1620}, kH100Pcie},
    {"H100 NVL", "NVIDIA H100 NVL", 9, 0, 132, 3900, kNotStated, kHopperNvl},
    {"H200 SXM", "NVIDIA H200", 9, 0, 132, 4800, kHopperClocks, kHopperSxm},
    {"H200 NVL", "NVIDIA H200 NVL", 9, 0, 132, 4800, kNotStated, kHopperNvl},
    {"GH200 96 GB", "NVIDIA GH200 480GB", 9, 0, 132, 4000, kHopperClocks, kHopperSxm},
    {"B200", "NVIDIA B200", 10, 0, 148, 7700, kNotStated, kB200},
});

double clock_mhz(const Clocks& mhz, std::string_view resource) {
  if (resource == "tensor.fp16" || resource == "tensor.bf16") return mhz.half;
  return resource.starts_with("tensor.") && resource != "tensor.fp64" ? mhz.tensor : mhz.vector;
}

Datasheet datasheet(const Row& row) {
  Datasheet sheet{row.product, row.name, row.compute_major, row.compute_minor, row.sm_count, {}};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (row.rates[i] == 0) continue;
    sheet.figures.push_back(
        {kColumns[i], row.rates[i] * 1e12, clock_mhz(row.mhz, kColumns[i]) * 1e6});
  }
  if (row.memory_gb_per_s > 0) sheet.figures.push_back({"hbm", row.memory_gb_per_s * 1e9, 0});
  return sheet;
}

}  // namespace

std::span<const Datasheet> datasheets() {
  static const std::vector<Datasheet> kDatasheets = [] {
    std::vector<Datasheet> sheets;
    std::ranges::transform(kRows, std::back_inserter(sheets), datasheet);
    return sheets;
  }();
  return kDatasheets;
}

const Datasheet* find_datasheet(const DeviceFacts& device) {
  const auto sheet = std::ranges::find(datasheets(), device.name, &Datasheet::name);
  if (sheet == datasheets().end()) return nullptr;
  const bool other_chip =
      sheet->compute_major != device.compute_major || sheet->compute_minor != device.compute_minor;
  const bool other_cut = device.sm_count && *device.sm_count != sheet->sm_count;
  return other_chip || other_cut || device.mig_enabled.value_or(false) ? nullptr : &*sheet;
}

const DatasheetFigure* datasheet_figure(const DeviceFacts& device, std::string_view resource) {
  const Datasheet* sheet = find_datasheet(device);
  if (sheet == nullptr) return nullptr;
  const auto figure = std::ranges::find(sheet->figures, resource, &DatasheetFigure::resource);
  return figure == sheet->figures.end() ? nullptr : &*figure;
}

}  // namespace peakline

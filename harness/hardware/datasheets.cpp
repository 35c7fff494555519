#include "harness/hardware/datasheets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "harness/hardware/spec.hpp"

namespace peakline {
namespace {

// The SM clocks behind a product's figures, MHz; 0: not stated.
struct Clocks {
  double vector;  // of CUDA cores and of FP64 on Tensor Cores
  double tensor;
  double half = tensor;  // of FP16 and BF16 on Tensor Cores
};
// One for each column of kSmUnits.
constexpr std::array<double Clocks::*, kSmUnits.size()> kClockOf = {
    &Clocks::vector, &Clocks::vector, &Clocks::vector, &Clocks::vector, &Clocks::tensor,
    &Clocks::half,   &Clocks::half,   &Clocks::tensor, &Clocks::tensor, &Clocks::tensor};

// TFLOP/s or TOP/s, by column of kSmUnits; 0: not stated, or with too few digits.
using Rates = std::array<double, kSmUnits.size()>;

// memory: GB/s; 0: not stated.
std::vector<DatasheetFigure> figures(double memory, const Clocks& mhz, const Rates& rates) {
  std::vector<DatasheetFigure> stated;
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i] > 0) stated.push_back({kSmUnits[i], rates[i] * 1e12, mhz.*kClockOf[i] * 1e6});
  if (memory > 0) stated.push_back({"hbm", memory * 1e9, 0});
  return stated;
}

constexpr Rates kA40 = {0, 37.4, 0, 0, 74.8, 149.7, 149.7, 0, 299.3, 0};
constexpr Rates kA100 = {9.7, 19.5, 0, 19.5, 156, 312, 312, 0, 624, 0};
constexpr Rates kHopperSxm = {33.5, 66.9, 0, 66.9, 494.7, 989.4, 989.4, 1978.9, 1978.9, 0};
constexpr Rates kHopperNvl = {30, 60, 0, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 0};
constexpr Rates kH100Pcie = {25.6, 51.2, 0, 51.2, 378, 756, 756, 1513, 1513, 0};
constexpr Rates kL40s = {0, 91.6, 0, 0, 183, 362.05, 362.05, 733, 733, 0};
// Of one GPU on the HGX board; TF32 is left out, stated with two digits only.
constexpr Rates kB200 = {37, 75, 0, 0, 0, 2250, 2250, 4500, 4500, 9000};

constexpr Clocks kNotStated = {0, 0};
// Hopper's Tensor Core figures stand at a lower clock than its other figures (H100 whitepaper, "GPU
// Boost Clock for Tensor Core Ops").
constexpr Clocks kHopperClocks = {1980, 1830};
// The dense FP16 figure is not half of the sparse one (733): it stands at a slightly lower clock.
constexpr Clocks kL40sClocks = {2520, 2520, 2490};

}  // namespace

std::span<const Datasheet> datasheets() {
  static const std::vector<Datasheet> kDatasheets = {
      {"T4", "Tesla T4", 7, 5, 40, figures(0, {1590, 1590}, {0, 8.1, 0, 0, 0, 65, 0, 0, 130, 0})},
      {"A10", "NVIDIA A10", 8, 6, 72,
       figures(600, {1695, 1695}, {0, 31.2, 0, 0, 62.5, 125, 125, 0, 250, 0})},
      {"A30", "NVIDIA A30", 8, 0, 56,
       figures(933, {1440, 1440}, {5.2, 10.3, 0, 10.3, 82, 165, 165, 0, 330, 0})},
      {"A40", "NVIDIA A40", 8, 6, 84, figures(696, {1740, 1740}, kA40)},
      {"A100 SXM 40 GB", "NVIDIA A100-SXM4-40GB", 8, 0, 108, figures(1555, {1410, 1410}, kA100)},
      {"A100 PCIe 40 GB", "NVIDIA A100-PCIE-40GB", 8, 0, 108, figures(1555, {1410, 1410}, kA100)},
      {"A100 SXM 80 GB", "NVIDIA A100-SXM4-80GB", 8, 0, 108, figures(2039, {1410, 1410}, kA100)},
      {"A100 PCIe 80 GB", "NVIDIA A100 80GB PCIe", 8, 0, 108, figures(1935, {1410, 1410}, kA100)},
      {"L4", "NVIDIA L4", 8, 9, 58,
       figures(300, {2040, 2040}, {0, 30.3, 0, 0, 0, 121, 121, 242.5, 242.5, 0})},
      {"L40S", "NVIDIA L40S", 8, 9, 142, figures(864, kL40sClocks, kL40s)},
      {"H100 SXM", "NVIDIA H100 80GB HBM3", 9, 0, 132, figures(3350, kHopperClocks, kHopperSxm)},
      {"H100 PCIe", "NVIDIA H100 PCIe", 9, 0, 114, figures(2000, {1755, 1620}, kH100Pcie)},
      {"H100 NVL", "NVIDIA H100 NVL", 9, 0, 132, figures(3900, kNotStated, kHopperNvl)},
      {"H200 SXM", "NVIDIA H200", 9, 0, 132, figures(4800, kHopperClocks, kHopperSxm)},
      {"H200 NVL", "NVIDIA H200 NVL", 9, 0, 132, figures(4800, kNotStated, kHopperNvl)},
      {"GH200 96 GB", "NVIDIA GH200 480GB", 9, 0, 132, figures(4000, kHopperClocks, kHopperSxm)},
      {"B200", "NVIDIA B200", 10, 0, 148, figures(7700, kNotStated, kB200)},
  };
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

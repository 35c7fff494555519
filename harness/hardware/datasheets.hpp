#pragma once

// What NVIDIA's datasheets state. Figures are dense, also where NVIDIA states sparse ones.

#include <span>
#include <string_view>
#include <vector>

#include "harness/values/facts.hpp"

namespace peakline {

struct DatasheetFigure {
  std::string_view resource;  // of spec.hpp, or "hbm"
  double value = 0;           // FLOP/s, OP/s or B/s
  double clock_hz = 0;        // the SM clock behind it; 0: none (memory) or not stated
};
struct Datasheet {
  std::string_view product;  // "H200 SXM"
  std::string_view name;     // NVML's, in full
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;
  std::vector<DatasheetFigure> figures;
};

std::span<const Datasheet> datasheets();

// By the full NVML name, and by SM count and compute capability where they are known: a MIG slice,
// a cut-down or a new variant of a product never takes the figures of another. nullptr: no entry.
const Datasheet* find_datasheet(const DeviceFacts& device);
const DatasheetFigure* datasheet_figure(const DeviceFacts& device, std::string_view resource);

}  // namespace peakline

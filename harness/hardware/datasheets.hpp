#pragma once

// Known products; the build makes the table from datasheets.json. Figures are dense, even if a
// document states sparse ones. If NVIDIA's documents, among them its benchmark and inference
// repositories, contradict each other, all statements are recorded and none is used. Third parties'
// figures are only compared with NVIDIA's.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values/facts.hpp"

namespace peakline {

struct Document {
  std::string_view title;
  std::string_view url;
  std::string_view date;  // "2021-06" or a year; for web pages, when read
};

struct DatasheetFigure {
  std::string_view resource;  // a resource of spec.hpp, "tensor.fp16_acc16" or "hbm"
  double value = 0;           // FLOP/s, OP/s or B/s
  double clock_hz = 0;        // assumed SM clock; 0: none (memory), or not stated
};

// Contradictory statements, none of which is used.
struct Dispute {
  struct Statement {
    double value = 0;
    const Document* document = nullptr;
  };
  std::string_view resource;  // or kMemoryBus
  std::vector<Statement> statements;
};

// Ids as NVIDIA lists them; "vendor:device" in hexadecimal, as in lspci.
struct PciId {
  std::string_view device;                   // "10de:2335"
  std::vector<std::string_view> subsystems;  // "10de:18be", ...; empty: all of its name
};

// A product's share of its architecture's Tensor Core rate.
enum class TensorRate {
  kFull,
  kHalfWithFp32Sums,  // half for floating point with FP32 sums
  kHalf,              // half, integers included
  kUnknown,           // possibly less: no known document states it
};

// datasheet_table.cmake writes the fields in this order.
struct Datasheet {
  std::string_view product;  // "H200 SXM"
  std::string_view name;     // NVML's full name
  std::vector<PciId> ids;
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;           // 0: not stated
  double boost_clock_hz = 0;  // SMs; 0: not stated
  TensorRate tensor_rate = TensorRate::kFull;
  std::vector<std::string_view> cut;           // resources below the architecture's rate
  std::vector<const Document*> documents;      // sources of the figures
  std::vector<const Document*> compared_with;  // mostly third parties'
  std::vector<DatasheetFigure> figures;        // empty: no known document states any
  std::vector<Dispute> disputed;
};

std::span<const Datasheet> datasheets();

// Products whose title or NVML name has all words of `name`, ignoring case; "": all.
std::vector<const Datasheet*> products_called(std::string_view name);

// The GPU's product: the one with its PCI device and subsystem id, else the only one with its full
// NVML name. The compute capability must match, and the SM count if both are known and the GPU is
// not partitioned. nullptr: none, or ambiguous.
const Datasheet* find_product(const DeviceFacts& device);

// The product if its figures hold for the device (not for MIG slices), else nullptr.
const Datasheet* find_datasheet(const DeviceFacts& device);
// "a MIG slice has none"; "" if there is a datasheet.
std::string why_no_datasheet(const DeviceFacts& device);

// nullptr if not stated or disputed.
const DatasheetFigure* datasheet_figure(const DeviceFacts& device, std::string_view resource);

// Whether sources contradict each other on a resource, or on kMemoryBus, a driver's value.
inline constexpr std::string_view kMemoryBus = "memory_bus_bits";
bool disputed(const DeviceFacts& device, std::string_view resource);

// The product's share of ops_per_clock_per_sm in (0, 1]: 0.5 for FP32 sums on GeForce parts.
// nullopt if unknown; no theoretical rate is then stated.
std::optional<double> share_of_architecture(const DeviceFacts& device, std::string_view resource);

}  // namespace peakline

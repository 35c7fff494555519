#pragma once

// The table of products, by which a GPU is recognized. The build makes it from datasheets.json.
// Figures are dense, also where a document states sparse ones. Where NVIDIA's own documents
// contradict each other, both statements are recorded and neither is used; third parties dispute
// nothing, their figures are only compared with NVIDIA's. Published benchmark and inference
// repositories of NVIDIA's are its documents.

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
  std::string_view date;  // "2021-06", or the year alone; of a page, when it was read
};

struct DatasheetFigure {
  std::string_view resource;  // of spec.hpp, "tensor.fp16_acc16" or "hbm"
  double value = 0;           // FLOP/s, OP/s or B/s
  double clock_hz = 0;        // the SM clock behind it; 0: none (memory) or not stated
};

// Documents contradict each other: none of the values is used.
struct Dispute {
  struct Statement {
    double value = 0;
    const Document* document = nullptr;
  };
  std::string_view resource;  // or kMemoryBus
  std::vector<Statement> statements;
};

// Ids as NVIDIA lists them; vendor and device in hexadecimal, as lspci has them.
struct PciId {
  std::string_view device;                   // "10de:2335"
  std::vector<std::string_view> subsystems;  // "10de:18be", ...; empty: of any board
};

// How much a product has of its architecture's rate on Tensor Cores.
enum class TensorRate {
  kFull,
  kHalfWithFp32Sums,  // half of that of floating point with sums in FP32
  kHalf,              // half of it all, of integers too
  kUnknown,           // perhaps less: no document is known that states it
};

// datasheet_table.cmake writes the fields in this order.
struct Datasheet {
  std::string_view product;  // "H200 SXM"
  std::string_view name;     // NVML's, in full
  std::vector<PciId> ids;
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;           // 0: not stated
  double boost_clock_hz = 0;  // of the SMs; 0: not stated
  TensorRate tensor_rate = TensorRate::kFull;
  std::vector<std::string_view> cut;           // resources that run below the architecture's rate
  std::vector<const Document*> documents;      // state the figures
  std::vector<const Document*> compared_with;  // third parties' for the most part
  std::vector<DatasheetFigure> figures;        // none: no document is known that states any
  std::vector<Dispute> disputed;
};

std::span<const Datasheet> datasheets();

// The products whose title or NVML name has all words of `name`, in any case: "h100" is four. All
// products where it has none.
std::vector<const Datasheet*> products_called(std::string_view name);

// The GPU's product: by PCI device and subsystem id; else, or where NVIDIA lists the device without
// a subsystem, by the full NVML name. The SM count has to be the product's, where both are known
// and the GPU is not partitioned. nullptr: none, or it cannot be told.
const Datasheet* find_product(const DeviceFacts& device);

// The product where its figures hold for the device; nullptr for a MIG slice, too.
const Datasheet* find_datasheet(const DeviceFacts& device);
// Why there are none; empty where there are: "a MIG slice has none".
std::string why_no_datasheet(const DeviceFacts& device);

// nullptr where none is stated, or where documents contradict each other.
const DatasheetFigure* datasheet_figure(const DeviceFacts& device, std::string_view resource);

// Whether sources contradict each other on a resource, or on kMemoryBus, which drivers state.
inline constexpr std::string_view kMemoryBus = "memory_bus_bits";
bool disputed(const DeviceFacts& device, std::string_view resource);

// The share of its architecture's rate (ops_per_clock_per_sm) that the product has, in (0, 1]: 0.5
// for sums in FP32 on GeForce parts. nullopt if it is unknown: no theoretical rate is stated then.
std::optional<double> share_of_architecture(const DeviceFacts& device, std::string_view resource);

}  // namespace peakline

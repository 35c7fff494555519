#pragma once

// What can have a ceiling. One table holds those that are known, in the order in which they are
// shown; a profile carries label and unit of each that occurs, so that no reader needs the table.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace peakline {

// What a ceiling is a limit of, and how it is called.
struct Resource {
  enum class Kind { kMemory, kCompute };  // a slope or a roof of the roofline

  std::string name;   // "hbm.read", "tensor.bf16"
  std::string label;  // "HBM read", "BF16 Tensor Cores"
  std::string unit;   // "B/s", "FLOP/s", "OP/s"
  Kind kind = Kind::kMemory;
  std::string precision;  // "bf16"; empty for memory

  // The resource whose theoretical and datasheet peaks hold for this one; empty: its own. Products
  // in FP32 run on the CUDA cores. Not part of a profile.
  std::string peak_of = {};

  bool operator==(const Resource&) const = default;
};
std::string_view to_string(Resource::Kind kind);  // "memory", "compute"

// The table.
std::span<const Resource> known_resources();

// The entry of that name; std::logic_error where there is none.
const Resource& resource(std::string_view name);
// nullptr where there is none.
const Resource* find_resource(std::string_view name);

}  // namespace peakline

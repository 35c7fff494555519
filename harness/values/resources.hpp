#pragma once

// Resources that can have a ceiling. One table holds the known ones, in the order in which they are
// shown; a profile carries label and unit of each that occurs, so that no reader needs the table.

#include <span>
#include <string>
#include <string_view>

namespace peakline {

// A resource that a ceiling limits, and its names.
struct Resource {
  enum class Kind { kMemory, kCompute };  // a slope or a roof of the roofline

  std::string name;   // "hbm.read", "tensor.bf16"
  std::string label;  // "HBM read", "BF16 Tensor Cores"
  std::string unit;   // "B/s", "FLOP/s", "OP/s"
  Kind kind = Kind::kMemory;
  std::string precision;  // "bf16"; empty for memory

  // The following fields are not part of a profile.

  // The name under which theory and datasheet state the peak, where it is not its own: products in
  // FP32 run on the CUDA cores.
  std::string peak_of = {};
  // The rank among the resources of a memory level that can be its slope in a roofline: of those
  // that were measured the lowest becomes the slope. 0: never one.
  int slope_rank = 0;

  bool operator==(const Resource& other) const {
    return name == other.name && label == other.label && unit == other.unit && kind == other.kind &&
           precision == other.precision;
  }
};
std::string_view to_string(Resource::Kind kind);  // "memory", "compute"

// The part of the machine that a resource belongs to, which is what its name begins with: the
// memory level "hbm" of "hbm.read", the unit "tensor" of "tensor.bf16".
std::string_view part_of(std::string_view resource);

// The table.
std::span<const Resource> known_resources();

// The entry of that name; std::logic_error where there is none.
const Resource& resource(std::string_view name);
// nullptr where there is none.
const Resource* find_resource(std::string_view name);
// The name under which theory and datasheets state the peak of a resource: its own, unless the
// table has another (peak_of).
std::string_view peak_resource(std::string_view name);

}  // namespace peakline

#pragma once

// Resources that can have a ceiling. One table holds them in display order; profiles carry the
// labels and units of theirs, so readers do not need it.

#include <span>
#include <string>
#include <string_view>

namespace peakline {

struct Resource {
  enum class Kind { kMemory, kCompute };  // slope or roof of the roofline

  std::string name;   // "hbm.read", "tensor.bf16"
  std::string label;  // "HBM read", "BF16 Tensor Cores"
  std::string unit;   // "B/s", "FLOP/s", "OP/s"
  Kind kind = Kind::kMemory;
  std::string precision;  // "bf16"; empty for memory

  // Not part of a profile:

  // The resource whose theoretical peak applies, if not its own: FP32 GEMM has the CUDA cores'.
  std::string peak_of = {};
  // Rank as the slope of a memory level; the lowest measured rank becomes it. 0: never.
  int slope_rank = 0;
  // The label is the name of one of these and `what`: "HBM", or what a device has instead.
  enum class Of { kOther, kDeviceMemory, kHostLink } of = Of::kOther;
  std::string what = {};  // "read", "copy (read + write)"
  // The label's parts for compute: "BF16", "Tensor Cores".
  std::string format = {}, engine = {};

  bool operator==(const Resource& other) const {
    return name == other.name && label == other.label && unit == other.unit && kind == other.kind &&
           precision == other.precision;
  }
};
std::string_view to_string(Resource::Kind kind);  // "memory", "compute"

// The part of the machine in a resource's name: "hbm" of "hbm.read".
std::string_view part_of(std::string_view resource);
// "nvlink.read" for one pair's "nvlink.read.0-1"; other names stay.
std::string_view without_pair(std::string_view resource);

std::span<const Resource> known_resources();

// Throws std::logic_error for an unknown name.
const Resource& resource(std::string_view name);
// nullptr for an unknown name.
const Resource* find_resource(std::string_view name);
// The resource whose theoretical and datasheet peaks apply: itself, or its peak_of.
std::string_view peak_resource(std::string_view name);

}  // namespace peakline

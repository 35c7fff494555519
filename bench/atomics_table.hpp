#pragma once

// The measured atomic operations, in the order of their points.

#include <array>
#include <string_view>

namespace peakline::bench {

struct AtomicOp {
  std::string_view name;
  std::string_view scope;  // empty in shared memory
  bool operator==(const AtomicOp&) const = default;
};
inline constexpr std::array kGlobalAtomics = {
    AtomicOp{"int32_add", "device"},  AtomicOp{"int64_add", "device"},
    AtomicOp{"fp32_add", "device"},   AtomicOp{"fp64_add", "device"},
    AtomicOp{"fp16x2_add", "device"}, AtomicOp{"int32_cas", "device"},
    AtomicOp{"int32_add", "block"},   AtomicOp{"int32_add", "system"},
    AtomicOp{"fp32_add", "block"},    AtomicOp{"fp32_add", "system"},
    AtomicOp{"fp64_add", "block"},    AtomicOp{"fp64_add", "system"}};
inline constexpr std::array kSharedAtomics = {
    AtomicOp{"int32_add", ""}, AtomicOp{"int64_add", ""},  AtomicOp{"fp32_add", ""},
    AtomicOp{"fp64_add", ""},  AtomicOp{"fp16x2_add", ""}, AtomicOp{"int32_cas", ""}};

}  // namespace peakline::bench

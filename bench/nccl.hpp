#pragma once

#include <cstddef>

#include "bench/collectives.hpp"

namespace peakline::bench {

struct NcclVariant {
  Collective collective = {};
  bool in_place = false;
  bool fp32 = false;  // else BF16
};

constexpr std::size_t bytes_of_element(const NcclVariant& variant) { return variant.fp32 ? 4 : 2; }

}  // namespace peakline::bench

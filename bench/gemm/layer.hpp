#pragma once

// The products of a transformer layer, and the sizes at which they are measured.

#include <array>
#include <cstdint>

namespace peakline::bench {

struct LayerPart {
  const char* name;
  std::int64_t n, k;  // in units of the hidden size
};
// Queries, keys and values in one product; the attention output; the MLP, four times as wide.
inline constexpr std::array<LayerPart, 4> kLayer{
    {{"qkv", 3, 1}, {"output", 1, 1}, {"up", 4, 1}, {"down", 1, 4}}};
inline constexpr std::array<std::int64_t, 2> kHidden = {4096, 8192};
inline constexpr std::array<std::int64_t, 6> kTokens = {1, 16, 128, 1024, 4096, 16384};
// Tokens of the ceiling: just enough to fill the units, so that a train of five ends before the
// power control reacts.
inline constexpr std::int64_t kCeilingTokens = 1024;

}  // namespace peakline::bench

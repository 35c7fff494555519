#pragma once

// The data that products are measured on, by name.

#include <array>
#include <string_view>

namespace peakline::bench {

// Data are measured in this order. Data that draw the full power come first: for half a second
// after a lighter load the power control grants more than its cap. The one behind the light ones
// takes that half second from the format that follows.
inline constexpr auto kOperandData = std::to_array<std::string_view>(
    {"normal", "uniform", "low_bits_cleared", "constant", "zeros", "half_zeros"});

}  // namespace peakline::bench

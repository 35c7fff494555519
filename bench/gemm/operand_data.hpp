#pragma once

#include <array>
#include <string_view>

namespace peakline::bench {

// The data of products, in the order of measurement. Those that draw the full power lead: for half
// a second after a lighter load, the power control grants more than its cap. half_zeros takes that
// half second from the format that follows.
inline constexpr auto kOperandData = std::to_array<std::string_view>(
    {"normal", "uniform", "low_bits_cleared", "constant", "zeros", "half_zeros"});

}  // namespace peakline::bench

#pragma once

namespace peakline::kernels {

inline constexpr unsigned kWarpLanes = 32;

}  // namespace peakline::kernels

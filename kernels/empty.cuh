#pragma once

namespace peakline::kernels {

// Nothing, 0 bytes and 0 FLOPs: what is left is the launch.
static __global__ void empty() {}

}  // namespace peakline::kernels

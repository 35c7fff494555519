#pragma once

// Small all-reduces in a CUDA graph, as inference engines run them; shared by registration and
// measurement.

namespace peakline::bench {

enum class AllReduceBy {
  kNccl,
  kNcclSymmetric,  // by its kernels for symmetric memory
  kOneShot,        // of ours, see kernels/all_reduce.cuh
  kTwoShot,
};

}  // namespace peakline::bench

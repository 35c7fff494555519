#pragma once

// Launch attributes, and grids of thread block clusters.

#include <array>
#include <cstddef>
#include <span>

#include "harness/benchmark/cuda_bench.hpp"

namespace peakline::bench {

inline constexpr int kClustersSince = 9;  // compute capability

struct LaunchShape {
  unsigned blocks, threads;
  std::size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
void launch_with(std::span<cudaLaunchAttribute> attributes, LaunchShape shape, cudaStream_t stream,
                 void (*kernel)(Parameters...), Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  PEAKLINE_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
}

inline cudaLaunchAttribute clusters_of(unsigned blocks) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {blocks, 1, 1};
  return attribute;
}

// Launches as many clusters of `size` blocks as the device holds at once. Each block takes more
// than half of an SM's shared memory, so it has the SM to itself.
template <class... Parameters>
class Clusters {
 public:
  // Throws Skipped if the device can run none.
  Clusters(const CudaBench& bench, void (*kernel)(Parameters...), unsigned size, unsigned threads)
      : kernel_(kernel), size_(size) {
    if (bench.device().compute_major < kClustersSince)
      throw Skipped("there are clusters from compute capability 9.0 on");
    constexpr unsigned kPortable = 8;
    if (size > kPortable)
      PEAKLINE_CUDA(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    if (!bench.device().shared_per_sm_bytes)
      throw Skipped("the size of the shared memory is not known");
    shape_ = {.blocks = size,
              .threads = threads,
              .shared_bytes = static_cast<std::size_t>(*bench.device().shared_per_sm_bytes / 2)};
    PEAKLINE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shape_.shared_bytes)));
    std::array attributes = {clusters_of(size)};
    cudaLaunchConfig_t one{};
    one.gridDim = shape_.blocks;
    one.blockDim = shape_.threads;
    one.dynamicSmemBytes = shape_.shared_bytes;
    one.attrs = attributes.data();
    one.numAttrs = attributes.size();
    int fit = 0;
    PEAKLINE_CUDA(cudaOccupancyMaxActiveClusters(&fit, kernel, &one));
    if (fit == 0) throw Skipped("the device runs no clusters of this size");
    shape_.blocks = static_cast<unsigned>(fit) * size;
  }

  unsigned size() const { return size_; }
  unsigned blocks() const { return shape_.blocks; }

  template <class... Arguments>
  void launch(cudaStream_t stream, Arguments... arguments) const {
    std::array attributes = {clusters_of(size_)};
    launch_with(attributes, shape_, stream, kernel_, arguments...);
  }

 private:
  void (*kernel_)(Parameters...);
  unsigned size_;
  LaunchShape shape_{};
};

}  // namespace peakline::bench

#include "harness/cuda/memory.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>

#include "harness/cuda/errors.hpp"

namespace peakline::cuda {
namespace {

// The current device's pool; nullptr if unsupported (some virtual GPUs).
cudaMemPool_t pool() {
  int device = 0, supported = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
  cudaMemPool_t found = nullptr;
  if (supported != 0) PEAKLINE_CUDA(cudaDeviceGetDefaultMemPool(&found, device));
  return found;
}

double attribute(cudaMemPool_t of, cudaMemPoolAttr which) {
  std::uint64_t value = 0;
  PEAKLINE_CUDA(cudaMemPoolGetAttribute(of, which, &value));
  return static_cast<double>(value);
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaMemPool_t from = pool();
  if (from == nullptr) {
    PEAKLINE_CUDA(cudaMalloc(&memory, bytes));
    return memory;
  }
  std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
  PEAKLINE_CUDA(cudaMemPoolSetAttribute(from, cudaMemPoolAttrReleaseThreshold, &keep));
  if (cudaMallocFromPoolAsync(&memory, bytes, from, nullptr) != cudaSuccess) {
    // Fragmented free memory of the pool may be too small.
    cudaGetLastError();
    PEAKLINE_CUDA(cudaMemPoolTrimTo(from, 0));
    PEAKLINE_CUDA(cudaMallocFromPoolAsync(&memory, bytes, from, nullptr));
  }
  PEAKLINE_CUDA(cudaStreamSynchronize(nullptr));
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  cudaDeviceSynchronize();
  // Memory from cudaMalloc is freed too, as by cudaFree.
  cudaFreeAsync(memory, nullptr);
}

double free_memory_bytes() {
  std::size_t free = 0, total = 0;
  PEAKLINE_CUDA(cudaMemGetInfo(&free, &total));
  const cudaMemPool_t of = pool();
  const double unused = of == nullptr ? 0
                                      : attribute(of, cudaMemPoolAttrReservedMemCurrent) -
                                            attribute(of, cudaMemPoolAttrUsedMemCurrent);
  return static_cast<double>(free) + unused;
}

}  // namespace peakline::cuda

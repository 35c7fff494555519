#include "harness/benchmark/node_bench.hpp"

#include <fmt/format.h>

#include "harness/cuda/errors.hpp"

namespace peakline::bench {
namespace {

// Enables access by `user` to the memory of `owner`.
void allow(NodeGpu& user, const NodeGpu& owner) {
  if (user.peers.contains(owner.index)) return;
  int can = 0;
  PEAKLINE_CUDA(cudaDeviceCanAccessPeer(&can, user.ordinal, owner.ordinal));
  if (can == 0)
    throw Skipped(
        fmt::format("GPU {} cannot access the memory of GPU {}", user.index, owner.index));
  const CurrentGpu current(user);
  const cudaError_t code = cudaDeviceEnablePeerAccess(owner.ordinal, 0);
  if (code != cudaSuccess) cudaGetLastError();
  if (code != cudaSuccess && code != cudaErrorPeerAccessAlreadyEnabled)
    throw Skipped(fmt::format("access by GPU {} to the memory of GPU {} is refused: {}", user.index,
                              owner.index, cudaGetErrorString(code)));
  int pools = 0;
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, owner.ordinal));
  if (pools != 0) {
    cudaMemPool_t pool = nullptr;
    PEAKLINE_CUDA(cudaDeviceGetDefaultMemPool(&pool, owner.ordinal));
    const cudaMemAccessDesc access = {
        .location = {.type = cudaMemLocationTypeDevice, .id = user.ordinal},
        .flags = cudaMemAccessFlagsProtReadWrite};
    PEAKLINE_CUDA(cudaMemPoolSetAccess(pool, &access, 1));
  }
  user.peers.insert(owner.index);
}

}  // namespace

CurrentGpu::CurrentGpu(int ordinal) {
  PEAKLINE_CUDA(cudaGetDevice(&before_));
  PEAKLINE_CUDA(cudaSetDevice(ordinal));
}

void NodeBench::connect() {
  for (NodeGpu* user : gpus_)
    for (const NodeGpu* owner : gpus_)
      if (user != owner) allow(*user, *owner);
}

void NodeBench::need_memory(std::size_t bytes) const {
  for (const NodeGpu* gpu : gpus_) {
    const CurrentGpu current(*gpu);
    try {
      fitting_memory(bytes, bytes);
    } catch (const Skipped& skipped) {
      throw Skipped(fmt::format("GPU {}: {}", gpu->index, skipped.what()));
    }
  }
}

}  // namespace peakline::bench

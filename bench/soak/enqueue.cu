#include "bench/soak/enqueue.hpp"
#include "harness/cuda/errors.hpp"
#include "kernels/verify.cuh"

namespace peakline::bench {
namespace {

template <class Byte>
auto* vectors(Byte* bytes) {
  if constexpr (std::is_const_v<Byte>)
    return reinterpret_cast<const uint4*>(bytes);
  else
    return reinterpret_cast<uint4*>(bytes);
}

}  // namespace

void start_log(kernels::DifferenceLog* log, cudaStream_t stream) {
  kernels::start_log<<<1, 1, 0, stream>>>(log);
  PEAKLINE_CUDA(cudaGetLastError());
}

void compare(const std::byte* expected, const std::byte* found, std::size_t bytes,
             kernels::DifferenceLog* log, cudaStream_t stream) {
  const std::size_t count = bytes / sizeof(uint4);
  kernels::compare_vectors<<<kernels::verify_blocks(count), kernels::kVerifyThreads, 0, stream>>>(
      vectors(expected), vectors(found), count, log);
  PEAKLINE_CUDA(cudaGetLastError());
}

void write_pattern(std::byte* data, std::size_t bytes, const kernels::Content& content,
                   cudaStream_t stream) {
  const std::size_t count = bytes / sizeof(uint4);
  kernels::write_pattern<<<kernels::verify_blocks(count), kernels::kVerifyThreads, 0, stream>>>(
      vectors(data), count, content);
  PEAKLINE_CUDA(cudaGetLastError());
}

void replace_pattern(std::byte* data, std::size_t bytes, const Replacement& replacement,
                     kernels::DifferenceLog* log, cudaStream_t stream) {
  const std::size_t count = bytes / sizeof(uint4);
  kernels::replace_pattern<<<kernels::verify_blocks(count), kernels::kVerifyThreads, 0, stream>>>(
      vectors(data), count, replacement.now, replacement.next, replacement.rounds,
      replacement.downward, log);
  PEAKLINE_CUDA(cudaGetLastError());
}

std::size_t most_shared_bytes() {
  int device = 0, most = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(most);
}

void check_shared(const SharedCheck& check, kernels::DifferenceLog* log, cudaStream_t stream) {
  PEAKLINE_CUDA(cudaFuncSetAttribute(kernels::check_shared,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(check.bytes)));
  kernels::check_shared<<<check.blocks, kernels::kVerifyThreads, check.bytes, stream>>>(
      static_cast<unsigned>(check.bytes / sizeof(uint4)), check.seed, check.rounds, check.flips,
      log);
  PEAKLINE_CUDA(cudaGetLastError());
}

}  // namespace peakline::bench

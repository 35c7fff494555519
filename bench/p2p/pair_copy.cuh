#pragma once

// Copies between two GPUs, and streams of several GPUs that begin and end together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/benchmark/cuda_data.cuh"
#include "harness/benchmark/node_bench.hpp"

namespace peakline::bench {

// Skips the point unless the memory of both GPUs holds the arrays, and one more for verification.
inline void need_arrays(const NodeBench& bench, std::size_t arrays, std::size_t bytes) {
  bench.need_memory((arrays + 1) * bytes);
}

// Copies random words from one GPU to another.
class PairCopy {
 public:
  PairCopy(const NodeGpu& from, const NodeGpu& to, std::size_t bytes, std::uint64_t seed)
      : bytes_(bytes), seed_(seed), source_(from, words()), target_(to, words()) {
    const CurrentGpu current(from);
    kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(source_.data(), words(), seed_);
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }

  std::size_t bytes() const { return bytes_; }
  const std::uint32_t* source() const { return source_.data(); }
  std::uint32_t* target() const { return target_.data(); }
  std::size_t words() const { return bytes_ / sizeof(std::uint32_t); }
  // Copies by the copy engines of the stream's GPU.
  void enqueue(cudaStream_t stream) const {
    PEAKLINE_CUDA(
        cudaMemcpyAsync(target_.data(), source_.data(), bytes_, cudaMemcpyDefault, stream));
  }
  void poison() const {
    const CurrentGpu current(target_.gpu());
    PEAKLINE_CUDA(cudaMemset(target_.data(), 0xff, bytes_));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  std::string find_mismatch() const {
    const CurrentGpu current(target_.gpu());
    const auto expected = random_words(words(), seed_);
    return count_differences("copy", [&](unsigned long long* differences) {
      kernels::reference_compare<<<kAnyBlocks, kAnyThreads>>>(expected.data(), target_.data(),
                                                              words(), differences);
    });
  }

 private:
  std::size_t bytes_;
  std::uint64_t seed_;
  NodeBuffer<std::uint32_t> source_, target_;
};

// Streams of other GPUs, forked from the first GPU's stream and joined by it.
class Fork {
 public:
  static constexpr std::int64_t kOperations = 4;  // on the first GPU's stream, besides the waits

  // others: the GPU of each stream.
  explicit Fork(std::span<const NodeGpu* const> others) {
    for (const NodeGpu* gpu : others) {
      const CurrentGpu current(*gpu);
      branches_.push_back(std::make_unique<Branch>());
    }
  }
  cudaStream_t stream(std::size_t i) const { return branches_[i]->stream.get(); }
  void begin(cudaStream_t first) const {
    begin_.record(first);
    for (const auto& branch : branches_)
      PEAKLINE_CUDA(cudaStreamWaitEvent(branch->stream.get(), begin_.get()));
  }
  void end(cudaStream_t first) const {
    for (const auto& branch : branches_) {
      branch->end.record(branch->stream.get());
      PEAKLINE_CUDA(cudaStreamWaitEvent(first, branch->end.get()));
    }
  }

 private:
  struct Branch {
    cuda::Stream stream;
    cuda::Event end{cudaEventDisableTiming};
  };
  cuda::Event begin_{cudaEventDisableTiming};
  std::vector<std::unique_ptr<Branch>> branches_;
};

}  // namespace peakline::bench

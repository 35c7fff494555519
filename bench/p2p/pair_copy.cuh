#pragma once

// The benchmarks of the links between GPUs share copies, and streams of several GPUs that begin and
// end together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/benchmark/cuda_data.cuh"
#include "harness/benchmark/node_bench.hpp"

namespace peakline::bench {

// Skips the point unless both GPUs' memory holds the arrays, and one more to verify by.
inline void need_arrays(const NodeBench& bench, std::size_t arrays, std::size_t bytes) {
  bench.need_memory((arrays + 1) * bytes);
}

// One GPU copies from or to another: random words from `from` to `to`.
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
  // The copy engines of the stream's GPU do this.
  void enqueue(cudaStream_t stream) const {
    PEAKLINE_CUDA(
        cudaMemcpyAsync(target_.data(), source_.data(), bytes_, cudaMemcpyDefault, stream));
  }
  void poison() const {
    const CurrentGpu current(target_.gpu());
    PEAKLINE_CUDA(cudaMemset(target_.data(), 0xff, bytes_));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  // Compares what has arrived with the same random words, made anew there.
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

// Streams of other GPUs, which begin once what the first GPU's stream had to do is done, and which
// it waits for.
class Fork {
 public:
  static constexpr std::int64_t kOperations = 4;  // of the first GPU's stream, besides the waits

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

// Threads bring blocks of a file to the GPU, each with two buffers there: it fetches one while a
// kernel sums the other. Blocks go through page-locked memory.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/pcie/host_memory.hpp"
#include "bench/storage_file.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/host/storage.hpp"

namespace peakline::bench {
namespace {

// The page cache holds this much without evicting much else.
constexpr std::size_t kCachedBytes = std::size_t{1} << 30;

// Page-locked memory that O_DIRECT can read into.
class LockedBlock {
 public:
  explicit LockedBlock(std::size_t bytes) : memory_(bytes) {
    PEAKLINE_CUDA(cudaHostRegister(memory_.data(), bytes, cudaHostRegisterDefault));
  }
  ~LockedBlock() { cudaHostUnregister(memory_.data()); }
  LockedBlock(const LockedBlock&) = delete;
  LockedBlock& operator=(const LockedBlock&) = delete;
  std::byte* data() const { return memory_.data(); }

 private:
  host::BlockBuffer memory_;
};

struct Lane {
  explicit Lane(std::size_t block_bytes) : device(2 * block_bytes) {}
  std::byte* block(std::size_t slot) const { return device.data() + slot * device.size() / 2; }

  cuda::Stream stream;
  cuda::DeviceBuffer<std::byte> device;
  std::array<cuda::Event, 2> summed{cuda::Event(cudaEventDisableTiming),
                                    cuda::Event(cudaEventDisableTiming)};
};

class ThroughHost {
 public:
  ThroughHost(const host::StorageFile& file, std::size_t block_bytes, std::size_t lanes)
      : file_(file), block_bytes_(block_bytes) {
    for (std::size_t i = 0; i < 2 * lanes; ++i)
      memory_.push_back(std::make_unique<LockedBlock>(block_bytes));
  }

  // Brings a block to a slot of lane `number`. Returns the error, or "".
  std::string bring(std::uint64_t block, const Lane& lane, std::size_t number, std::size_t slot) {
    std::byte* const memory = memory_[2 * number + slot]->data();
    if (const int code = file_.read(block * block_bytes_, block_bytes_, memory); code != 0)
      return std::strerror(code);
    const cudaError_t code = cudaMemcpyAsync(lane.block(slot), memory, block_bytes_,
                                             cudaMemcpyHostToDevice, lane.stream.get());
    return code == cudaSuccess ? "" : cudaGetErrorString(code);
  }

 private:
  const host::StorageFile& file_;
  std::size_t block_bytes_;
  std::vector<std::unique_ptr<LockedBlock>> memory_;
};

class Pipeline {
 public:
  Pipeline(const std::vector<std::unique_ptr<Lane>>& lanes, ThroughHost& carrier,
           std::size_t file_bytes, std::size_t block_bytes)
      : lanes_(lanes),
        carrier_(carrier),
        block_bytes_(block_bytes),
        blocks_(file_bytes / block_bytes) {
    PEAKLINE_CUDA(cudaGetDevice(&gpu_));
  }

  // Moves the next `count` blocks, cyclically; waits. Throws host::StorageError.
  void move(std::uint64_t count) {
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> failed{false};
    std::vector<std::string> failures(lanes_.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < lanes_.size(); ++i)
        threads.emplace_back([&, i] {
          failures[i] = feed(i, next, count, failed);
          if (!failures[i].empty()) failed = true;
        });
    }
    for (const auto& lane : lanes_) lane->stream.synchronize();
    for (const std::string& failure : failures)
      if (!failure.empty()) throw host::StorageError("a block did not arrive: " + failure);
    moved_ += count;
  }

  std::string find_mismatch() const {
    std::uint32_t expected = 0;
    const std::uint64_t rounds = moved_ / blocks_, rest = moved_ % blocks_;
    // Blocks moved an even number of times cancel in the XOR.
    for (std::uint64_t block = 0; block < blocks_; ++block)
      if ((rounds + (block < rest ? 1 : 0)) % 2 == 1) expected ^= sum_of(block);
    return sum_.get() == expected ? "" : "the sum of what has arrived differs from the file's";
  }

 private:
  std::uint32_t sum_of(std::uint64_t block) const {
    const std::size_t words = block_bytes_ / sizeof(std::uint64_t);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words; ++i) sum ^= host::stored_word(block * words + i);
    return static_cast<std::uint32_t>(sum ^ (sum >> 32));
  }

  std::string feed(std::size_t number, std::atomic<std::uint64_t>& next, std::uint64_t count,
                   const std::atomic<bool>& failed) const {
    if (const cudaError_t code = cudaSetDevice(gpu_); code != cudaSuccess)
      return cudaGetErrorString(code);
    const Lane& lane = *lanes_[number];
    std::size_t slot = 0;
    for (std::uint64_t i = next++; i < count && !failed; i = next++, slot = 1 - slot) {
      if (const cudaError_t code = cudaEventSynchronize(lane.summed[slot].get());
          code != cudaSuccess)
        return cudaGetErrorString(code);
      std::string failure = carrier_.bring((moved_ + i) % blocks_, lane, number, slot);
      if (!failure.empty()) return failure;
      kernels::reference_xor<<<kBlocks, kAnyThreads, 0, lane.stream.get()>>>(
          reinterpret_cast<const std::uint32_t*>(lane.block(slot)),
          block_bytes_ / sizeof(std::uint32_t), 1, 1, sum_.data());
      if (const cudaError_t code = cudaEventRecord(lane.summed[slot].get(), lane.stream.get());
          code != cudaSuccess)
        return cudaGetErrorString(code);
    }
    return "";
  }

  static constexpr unsigned kBlocks =
      256;  // of the sum; few, so that other streams are not held up
  const std::vector<std::unique_ptr<Lane>>& lanes_;
  ThroughHost& carrier_;
  std::size_t block_bytes_;
  std::uint64_t blocks_, moved_ = 0;
  int gpu_ = 0;
  Accumulator<std::uint32_t> sum_;
};

}  // namespace

void input_pipeline(CudaBench& bench) {
  const auto near = bind_near(bench);
  const host::StorageFile& file = storage_file(bench);
  const auto block_bytes = static_cast<std::size_t>(bench.integer("block"));
  std::vector<std::unique_ptr<Lane>> lanes;
  for (std::int64_t i = 0; i < bench.integer("threads"); ++i)
    lanes.push_back(std::make_unique<Lane>(block_bytes));
  const bool cached = bench.text("source") == "page_cache";
  const auto from_cache = cached ? file.cached() : nullptr;
  ThroughHost carrier(cached ? *from_cache : file, block_bytes, lanes.size());
  const std::size_t bytes = cached ? std::min(file.bytes(), kCachedBytes) : file.bytes();
  Pipeline pipeline(lanes, carrier, bytes, block_bytes);
  if (cached) pipeline.move(bytes / block_bytes);  // fills the page cache
  measure_storage(
      bench, block_bytes, lanes.size(), [&](std::uint64_t count) { pipeline.move(count); },
      cached ? std::function<void()>() : forget_cached(bench, file));
  bench.verify([&] { return pipeline.find_mismatch(); });
}

}  // namespace peakline::bench

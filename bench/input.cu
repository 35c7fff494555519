// Threads that read blocks into page-locked memory and copy them to the GPU, each with two buffers,
// so that it reads one while the other is copied; a kernel sums up what has arrived.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/pcie/host_memory.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/host/storage.hpp"

namespace peakline::bench {
namespace {

// Short enough for as many samples as a ceiling needs.
constexpr double kSampleSeconds = 0.03;
// The page cache holds this much without pushing out what others need.
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
  explicit Lane(std::size_t block_bytes)
      : host{std::make_unique<LockedBlock>(block_bytes),
             std::make_unique<LockedBlock>(block_bytes)} {
    for (auto& buffer : device) buffer = cuda::DeviceBuffer<std::byte>(block_bytes);
  }
  cuda::Stream stream;
  std::array<std::unique_ptr<LockedBlock>, 2> host;
  std::array<cuda::DeviceBuffer<std::byte>, 2> device;
  std::array<cuda::Event, 2> copied{cuda::Event(cudaEventDisableTiming),
                                    cuda::Event(cudaEventDisableTiming)};
};

class Pipeline {
 public:
  Pipeline(const host::StorageFile& file, std::size_t file_bytes, std::size_t block_bytes,
           int threads)
      : file_(file), block_bytes_(block_bytes), blocks_(file_bytes / block_bytes) {
    for (int i = 0; i < threads; ++i) lanes_.push_back(std::make_unique<Lane>(block_bytes));
    PEAKLINE_CUDA(cudaGetDevice(&gpu_));
  }

  // Moves the next `count` blocks of the file, over and over; waits. Throws host::StorageError.
  void move(std::uint64_t count) {
    std::atomic<std::uint64_t> next{0};
    std::atomic<int> error{0};
    {
      std::vector<std::jthread> threads;
      for (const auto& lane : lanes_)
        threads.emplace_back([&, at = lane.get()] { feed(*at, next, count, error); });
    }
    for (const auto& lane : lanes_) lane->stream.synchronize();
    if (error != 0) throw host::StorageError(std::string("a read failed: ") + std::strerror(error));
    moved_ += count;
  }

  // Against the sum of the blocks that were moved.
  std::string find_mismatch() const {
    std::uint32_t expected = 0;
    const std::uint64_t rounds = moved_ / blocks_, rest = moved_ % blocks_;
    // Of an even number of times nothing is left.
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

  void feed(Lane& lane, std::atomic<std::uint64_t>& next, std::uint64_t count,
            std::atomic<int>& error) const {
    if (cudaSetDevice(gpu_) != cudaSuccess) return;
    std::size_t slot = 0;
    for (std::uint64_t i = next++; i < count && error == 0; i = next++, slot = 1 - slot) {
      if (cudaEventSynchronize(lane.copied[slot].get()) != cudaSuccess) return;
      const std::uint64_t block = (moved_ + i) % blocks_;
      if (const int code = read(block, lane.host[slot]->data()); code != 0) error = code;
      if (cudaMemcpyAsync(lane.device[slot].data(), lane.host[slot]->data(), block_bytes_,
                          cudaMemcpyHostToDevice, lane.stream.get()) != cudaSuccess)
        return;
      kernels::reference_xor<<<kBlocks, kAnyThreads, 0, lane.stream.get()>>>(
          reinterpret_cast<const std::uint32_t*>(lane.device[slot].data()),
          block_bytes_ / sizeof(std::uint32_t), 1, 1, sum_.data());
      if (cudaEventRecord(lane.copied[slot].get(), lane.stream.get()) != cudaSuccess) return;
    }
  }

  // 0, or why not.
  int read(std::uint64_t block, std::byte* to) const {
    for (std::size_t done = 0; done < block_bytes_;) {
      const ssize_t n = ::pread(file_.descriptor(), to + done, block_bytes_ - done,
                                static_cast<off_t>(block * block_bytes_ + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? errno : EIO;
      done += static_cast<std::size_t>(n);
    }
    return 0;
  }

  static constexpr unsigned kBlocks = 256;  // of the sum: it must not hold up other streams
  const host::StorageFile& file_;
  std::size_t block_bytes_;
  std::uint64_t blocks_, moved_ = 0;
  int gpu_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Accumulator<std::uint32_t> sum_;
};

}  // namespace

void input_pipeline(CudaBench& bench) {
  const auto near = bind_near(bench);
  const auto& file = bench.remember<std::shared_ptr<host::StorageFile>>("storage", [&] {
    return std::make_shared<host::StorageFile>(bench.options().storage_descriptor);
  });
  const bool cached = bench.text("source") == "page_cache";
  const auto from_cache = cached ? file->cached() : nullptr;
  const auto block_bytes = static_cast<std::size_t>(bench.integer("block"));
  if (!cached && !file->direct())
    bench.remark("the file system has no O_DIRECT: read by way of the page cache");
  Pipeline pipeline(cached ? *from_cache : *file,
                    cached ? std::min(file->bytes(), kCachedBytes) : file->bytes(), block_bytes,
                    static_cast<int>(bench.integer("threads")));
  if (cached) pipeline.move(std::min(file->bytes(), kCachedBytes) / block_bytes);  // reads it in
  std::uint64_t count = 4 * static_cast<std::uint64_t>(bench.integer("threads"));
  const double took_s = cuda::time_on_host([&] { pipeline.move(count); }, 1);
  count = std::max(count, static_cast<std::uint64_t>(static_cast<double>(count) * kSampleSeconds /
                                                     std::max(took_s, 1e-6)));
  bench.note("blocks_per_sample", static_cast<std::int64_t>(count));
  bench.measure_calls({.bytes_read = static_cast<double>(count * block_bytes)},
                      [&] { pipeline.move(count); });
  bench.verify([&] { return pipeline.find_mismatch(); });
}

}  // namespace peakline::bench

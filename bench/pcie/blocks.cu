#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/pcie/blocks.hpp"
#include "bench/pcie/host_memory.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/host/topology.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/move_blocks.cuh"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace {

using namespace pcie;
using cuda::DeviceBuffer;
using cuda::PinnedBuffer;
using kernels::ScatteredBlocks;

enum class BlocksWay { kToDevice, kToHost, kBoth };

// By the parameter "direction"; without it, both ways.
BlocksWay way_of(const CudaBench& bench) {
  const auto direction = bench.find_text("direction");
  return !direction            ? BlocksWay::kBoth
         : *direction == "h2d" ? BlocksWay::kToDevice
                               : BlocksWay::kToHost;
}

// Blocks lie scattered over memory of this multiple of the caches of either side, so that neither
// holds the next launch's blocks.
constexpr double kBeyondCaches = 4;
// More is not locked: it takes longer than measuring.
constexpr std::size_t kMostBytes = std::size_t{2} << 30;

// Pinned host memory on the device's node, and device memory of the same size.
struct Arena {
  explicit Arena(std::size_t bytes, std::uint64_t seed)
      : host(bytes / sizeof(std::uint32_t)), device(random_words(host.size(), seed)) {
    PEAKLINE_CUDA(cudaMemcpy(host.data(), device.data(), bytes, cudaMemcpyDeviceToHost));
    // The data must differ from what they replace, or a launch that does nothing looks right.
    kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(device.data(), device.size(), seed + 1);
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  std::size_t bytes() const { return host.size() * sizeof(std::uint32_t); }

  PinnedBuffer<std::uint32_t> host;
  DeviceBuffer<std::uint32_t> device;
};

const Arena& arena(CudaBench& bench) {
  return *bench.remember<std::shared_ptr<Arena>>("pcie.blocks", [&] {
    const host::Topology& host = host::Topology::usable();
    const double cache = std::max(
        host.last_level_cache_bytes(host.spread(host.hardware_threads().value_or(1))).value_or(0),
        bench.device().l2_bytes.value_or(0));
    const auto wanted = static_cast<std::size_t>(kBeyondCaches * cache);
    const std::size_t bytes =
        std::clamp((wanted + kBlocksBytes - 1) / kBlocksBytes * kBlocksBytes, kLargest, kMostBytes);
    return std::make_shared<Arena>(bench.fitting_memory(bytes, kBlocksBytes), bench.seed());
  });
}

// Moves kBlocksBytes of blocks at each call, others than the calls before.
class Mover {
 public:
  Mover(CudaBench& bench, BlocksBy by, BlocksWay way, std::size_t block)
      : arena_(arena(bench)),
        by_(by),
        way_(way),
        block_(block),
        count_(kBlocksBytes / block),
        places_(arena_.bytes() / block),
        sms_(bench.sm_count()) {
    std::mt19937_64 random(bench.seed());
    for (auto* order : {&of_host_, &of_device_}) {
      order->resize(places_);
      std::iota(order->begin(), order->end(), 0u);
      std::ranges::shuffle(*order, random);
    }
    on_gpu_of_host_ = DeviceBuffer<unsigned>(places_);
    on_gpu_of_device_ = DeviceBuffer<unsigned>(places_);
    on_gpu_of_host_.from_host(of_host_);
    on_gpu_of_device_.from_host(of_device_);
    sizes_.assign(count_, block_);
    to_.resize(count_);
    from_.resize(count_);
  }

  void use_sms(unsigned sms) { sms_ = sms; }

  // Enqueues. The host's part takes as long as the way of moving needs it.
  void move(cudaStream_t stream) {
    first_ = (first_ + count_) % places_;
    switch (by_) {
      case BlocksBy::kLoop:
        list_copies();
        for (std::size_t i = 0; i < count_; ++i)
          PEAKLINE_CUDA(cudaMemcpyAsync(to_[i], from_[i], block_, cudaMemcpyDefault, stream));
        return;
      case BlocksBy::kBatch: {
        list_copies();
        // Blocks do not change before the stream is done with them.
        cudaMemcpyAttributes ordered{};
        ordered.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        std::size_t from_first = 0;
        PEAKLINE_CUDA(cudaMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(), count_,
                                           &ordered, &from_first, 1, stream));
        return;
      }
      case BlocksBy::kKernel: {
        const auto [first, second] = ways();
        const unsigned directions = way_ == BlocksWay::kBoth ? 2 : 1;
        kernels::move_blocks<<<sms_ * directions, kernels::kMoveThreads, 0, stream>>>(
            first, second, directions, static_cast<unsigned>(kBlocksBytes / kernels::kMovedAtOnce),
            static_cast<unsigned>(block_ / kernels::kMovedAtOnce));
      }
    }
  }

  std::string find_mismatch(cudaStream_t stream) {
    const std::size_t next = (first_ + count_) % places_;
    const bool to_device = way_ != BlocksWay::kToHost, to_host = way_ != BlocksWay::kToDevice;
    // The first half goes to the device where both ways are taken.
    const std::size_t half = to_device && to_host ? count_ / 2 : count_;
    for (std::size_t i = 0; to_device && i < half; ++i)
      PEAKLINE_CUDA(cudaMemsetAsync(device_block(of_device_[next + i]), 0xff, block_, stream));
    PEAKLINE_CUDA(cudaStreamSynchronize(stream));
    for (std::size_t i = count_ - half; to_host && i < count_; ++i)
      std::memset(host_block(of_host_[next + i]), 0xff, block_);
    move(stream);
    PEAKLINE_CUDA(cudaStreamSynchronize(stream));
    const auto [first, second] = ways();
    for (const ScatteredBlocks& way : {first, second}) {
      std::string wrong = count_differences("blocks", [&](unsigned long long* differences) {
        kernels::reference_moved<<<kAnyBlocks, kAnyThreads>>>(way, block_ / sizeof(std::uint32_t),
                                                              half, differences);
      });
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  std::byte* host_block(unsigned place) const {
    return reinterpret_cast<std::byte*>(arena_.host.data()) + place * block_;
  }
  std::byte* device_block(unsigned place) const {
    return reinterpret_cast<std::byte*>(arena_.device.data()) + place * block_;
  }
  void list_copies() {
    for (std::size_t i = 0; i < count_; ++i) {
      std::byte *host = host_block(of_host_[first_ + i]),
                *device = device_block(of_device_[first_ + i]);
      to_[i] = way_ == BlocksWay::kToDevice ? device : host;
      from_[i] = way_ == BlocksWay::kToDevice ? host : device;
    }
  }
  // The second is the first where there is one way alone.
  std::array<ScatteredBlocks, 2> ways() const {
    auto* host = reinterpret_cast<uint4*>(arena_.host.data());
    auto* device = reinterpret_cast<uint4*>(arena_.device.data());
    const unsigned *of_host = on_gpu_of_host_.data() + first_,
                   *of_device = on_gpu_of_device_.data() + first_;
    const std::size_t second = way_ == BlocksWay::kBoth ? count_ / 2 : 0;
    const ScatteredBlocks in{host, device, of_host, of_device};
    const ScatteredBlocks out{device, host, of_device + second, of_host + second};
    if (way_ == BlocksWay::kToDevice) return {in, in};
    if (way_ == BlocksWay::kToHost) return {out, out};
    return {in, out};
  }

  const Arena& arena_;
  BlocksBy by_;
  BlocksWay way_;
  std::size_t block_, count_, places_, first_ = 0;
  unsigned sms_;
  std::vector<unsigned> of_host_, of_device_;
  DeviceBuffer<unsigned> on_gpu_of_host_, on_gpu_of_device_;
  std::vector<void*> to_;
  std::vector<const void*> from_;
  std::vector<std::size_t> sizes_;
};

// The fewest SMs with which the kernel keeps its rate: the others are free for computation.
unsigned fewest_sms(CudaBench& bench, BlocksWay way) {
  // Small blocks reach 95 % with either of two numbers, from run to run, and with more SMs than
  // needed writes to the host slow down reads of device memory by a factor.
  constexpr std::size_t kBlock = kUsualBlock;
  constexpr double kKept = 0.95;
  constexpr std::size_t kSamples = 5;
  const std::string key = "pcie.blocks.sms." + std::to_string(static_cast<int>(way));
  return bench.remember<unsigned>(key, [&] {
    std::vector<std::pair<unsigned, double>> times;
    Mover mover(bench, BlocksBy::kKernel, way, kBlock);
    const CudaBench::Launch launch = [&](cudaStream_t stream) { mover.move(stream); };
    for (unsigned sms = 1; sms < 2 * bench.sm_count(); sms *= 2) {
      mover.use_sms(std::min(sms, bench.sm_count()));
      bench.launch_once(launch);
      times.emplace_back(
          std::min(sms, bench.sm_count()),
          std::ranges::min(bench.sampler().time_batches(launch, 1, kSamples).launch_s));
    }
    const double least_s =
        std::ranges::min(times, {}, [](const auto& t) { return t.second; }).second;
    return std::ranges::find_if(times, [&](const auto& t) { return t.second * kKept <= least_s; })
        ->first;
  });
}

void need_batches(BlocksBy by) {
  constexpr int kFirst = 12080;
  int driver = 0;
  PEAKLINE_CUDA(cudaDriverGetVersion(&driver));
  if (by == BlocksBy::kBatch && driver < kFirst)
    throw Skipped("cudaMemcpyBatchAsync needs a driver of CUDA 12.8 or newer");
}

// Ready to move, with the kernel's SMs chosen and noted.
Mover mover_of(CudaBench& bench, BlocksBy by, BlocksWay way, std::size_t block) {
  need_batches(by);
  Mover mover(bench, by, way, block);
  if (by != BlocksBy::kKernel) return mover;
  const unsigned sms = fewest_sms(bench, way);
  mover.use_sms(sms);
  bench.note("sms", std::int64_t{sms} * (way == BlocksWay::kBoth ? 2 : 1));
  return mover;
}

}  // namespace

void move_blocks(CudaBench& bench, BlocksBy by) {
  const auto near = bind_near(bench);
  Mover mover =
      mover_of(bench, by, way_of(bench), static_cast<std::size_t>(bench.integer("block")));
  bench.note("footprint_bytes", static_cast<std::int64_t>(arena(bench).bytes()));
  bench.verify([&] { return mover.find_mismatch(bench.stream()); });
  const auto moved = static_cast<double>(kBlocksBytes);
  // Timed until the last block has arrived: the host's calls are part of it.
  bench.measure_on_host({.bytes_read = moved}, [&] {
    mover.move(bench.stream());
    PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream()));
  });
}

void read_beside_blocks(CudaBench& bench, std::size_t block) {
  constexpr std::size_t kReadBytes = std::size_t{2} << 30;
  constexpr int kUnroll = 4;
  constexpr unsigned kThreads = 512;
  constexpr std::size_t kAloneSamples = 9;
  const auto near = bind_near(bench);
  const BlocksBy by = std::ranges::find(kBlocksBy, bench.text("by"), &NamedBlocksBy::name)->by;
  Mover mover = mover_of(bench, by, way_of(bench), block);
  const std::size_t bytes = bench.fit_memory(kReadBytes, sizeof(uint4));
  const auto data = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  const std::size_t count = bytes / sizeof(uint4);
  const unsigned blocks = kernels::stream_blocks(count, kThreads, kUnroll);
  const DeviceBuffer<std::uint32_t> partials(blocks);
  const CudaBench::Launch read = [&](cudaStream_t stream) {
    kernels::stream_read<uint4, kUnroll><<<blocks, kThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(data.data()), count, partials.data());
  };
  bench.verify([&]() -> std::string {
    poison(partials, bench.stream());
    bench.launch_once(read);
    if (xor_of(partials.data(), blocks) != xor_of(data.data(), data.size()))
      return "the XOR of the data read differs";
    return mover.find_mismatch(bench.stream());
  });
  bench.time_roughly(read);
  const double alone_s = median(bench.sampler().time_batches(read, 1, kAloneSamples).launch_s);
  bench.note("alone_bytes_per_s", std::llround(static_cast<double>(bytes) / alone_s));

  // The copying kernel must not wait for a whole launch of reads, which fill the GPU.
  int lowest = 0, highest = 0;
  PEAKLINE_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  const cuda::Stream copies(highest);
  std::atomic<bool> enough = false;
  std::string failure;
  std::int64_t moves = 0;
  std::thread copying([&] {
    try {
      while (!enough) {
        mover.move(copies.get());
        copies.synchronize();
        ++moves;
      }
    } catch (const std::exception& error) {
      failure = error.what();
    }
  });
  const auto stop = [&] {
    enough = true;
    if (copying.joinable()) copying.join();
  };
  try {
    const auto start = std::chrono::steady_clock::now();
    bench.measure({.bytes_read = static_cast<double>(bytes)}, read);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    stop();
    bench.note("moved_bytes_per_s",
               std::llround(static_cast<double>(moves) * static_cast<double>(kBlocksBytes) /
                            elapsed.count()));
  } catch (...) {
    stop();
    throw;
  }
  if (!failure.empty()) throw std::runtime_error(failure);
}

}  // namespace peakline::bench

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bench/sms.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/benchmark/node_bench.hpp"
#include "kernels/sms.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr unsigned kWarps = kernels::kSmsThreads / 32;
// Per SM and launch: 1 ms of device memory, 0.8 ms of the L2 on an H100, 1 ms of NVLinks of the
// fourth version for 32 SMs.
constexpr std::size_t kHbmBytesPerSm = std::size_t{64} << 20;
constexpr std::size_t kL2BytesPerSm = std::size_t{128} << 20;
constexpr std::size_t kPeerBytesPerSm = std::size_t{16} << 20;
// Of the L2, which then holds the data however it is partitioned (as in l2.read).
constexpr double kShareOfL2 = 0.4;
constexpr double kBeyondL2 = 4;
constexpr std::uint32_t kWritten = 0x9e3779b9u;

// A kernel that reads, and the bytes that a warp takes at a time.
struct ReadShape {
  void (*kernel)(const uint4*, unsigned, unsigned, unsigned*, std::uint32_t*, unsigned*);
  std::size_t chunk;
};
template <int kUnroll, int kBatches>
constexpr ReadShape read_shape() {
  return {kernels::sms_read<kUnroll, kBatches>, kernels::kSmsChunk<kUnroll, kBatches>};
}
// Few SMs need many loads in flight; with all SMs, an H200's memory is faster with fewer. The L2
// needs long chunks, or the counters that hand them out limit it.
constexpr std::array kMemoryReads = {read_shape<8, 2>(), read_shape<4, 4>(), read_shape<2, 8>(),
                                     read_shape<8, 1>(), read_shape<4, 2>(), read_shape<4, 8>()};
constexpr std::array kL2Reads = {read_shape<8, 8>(), read_shape<4, 16>()};
constexpr double kSearchSeconds = 0.02;
constexpr int kWriteUnroll = 8, kWriteBatches = 2;
constexpr std::size_t kWriteChunk = kernels::kSmsChunk<kWriteUnroll, kWriteBatches>;

unsigned most_shared_bytes() {
  int device = 0, bytes = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<unsigned>(bytes);
}

// Launches `kernel` with blocks that leave no room beside them, and knows where they ran.
template <class... Params>
class OneBlockAnSm {
 public:
  OneBlockAnSm(void (*kernel)(Params...), unsigned sms)
      : kernel_(kernel), sms_(sms), shared_bytes_(most_shared_bytes()), sm_of_(sms) {
    PEAKLINE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared_bytes_)));
    PEAKLINE_CUDA(cudaMemset(counters_.data(), 0, counters_.size() * sizeof(unsigned)));
  }
  unsigned* counters() const { return counters_.data(); }
  unsigned* sm_of() const { return sm_of_.data(); }
  void launch(cudaStream_t stream, Params... params) const {
    kernel_<<<sms_, kernels::kSmsThreads, shared_bytes_, stream>>>(params...);
  }
  // Skips the point unless each block had an SM of its own.
  void note_sms(CudaBench& bench) const {
    const std::vector<unsigned> where = sm_of_.to_host();
    std::set<unsigned> distinct(where.begin(), where.end()), pairs;
    for (const unsigned sm : where) pairs.insert(sm / 2);
    if (distinct.size() != sms_) throw Skipped("the blocks did not get an SM each");
    bench.note("sms", std::int64_t{sms_});
    bench.note("sm_pairs", static_cast<std::int64_t>(pairs.size()));
  }

 private:
  void (*kernel_)(Params...);
  unsigned sms_, shared_bytes_;
  DeviceBuffer<unsigned> counters_{kernels::kSmsDone + 1}, sm_of_;
};

// Of which every shape's chunk is a part.
constexpr std::size_t kReadGranule = std::size_t{32} << 10;

// data: `bytes` random bytes, which are read over and over; of the current GPU or another. The
// fastest of the shapes counts.
void read_with_some(CudaBench& bench, unsigned sms, const std::uint32_t* data, std::size_t bytes,
                    std::size_t bytes_read, std::span<const ReadShape> shapes) {
  bytes_read = bytes_read / kReadGranule * kReadGranule;
  const DeviceBuffer<std::uint32_t> of_warp(std::size_t{sms} * kWarps);
  std::deque<OneBlockAnSm<const uint4*, unsigned, unsigned, unsigned*, std::uint32_t*, unsigned*>>
      kernels_of_shapes;
  for (const ReadShape& shape : shapes) kernels_of_shapes.emplace_back(shape.kernel, sms);
  const auto launch_of = [&](std::size_t i) -> CudaBench::Launch {
    return [&, i](cudaStream_t stream) {
      const auto& kernel = kernels_of_shapes[i];
      kernel.launch(stream, reinterpret_cast<const uint4*>(data),
                    static_cast<unsigned>(bytes / shapes[i].chunk),
                    static_cast<unsigned>(bytes_read / shapes[i].chunk), kernel.counters(),
                    of_warp.data(), kernel.sm_of());
    };
  };
  const std::size_t best = bench.search(shapes.size(), launch_of, kSearchSeconds);
  const CudaBench::Launch launch = launch_of(best);
  bench.launch_once(launch);
  kernels_of_shapes[best].note_sms(bench);
  bench.note("footprint_bytes", static_cast<std::int64_t>(bytes));
  bench.note("chunk_bytes", static_cast<std::int64_t>(shapes[best].chunk));
  bench.note("shape", static_cast<std::int64_t>(best));
  bench.verify([&]() -> std::string {
    poison(of_warp, bench.stream());
    bench.launch_once(launch);
    const std::vector<std::uint32_t> sums = of_warp.to_host();
    const Accumulator<std::uint32_t> expected;
    const std::size_t words = bytes / sizeof(std::uint32_t);
    kernels::reference_repeated_sum<<<kAnyBlocks, kAnyThreads>>>(
        data, words, words, bytes_read / sizeof(std::uint32_t), expected.data());
    return std::reduce(sums.begin(), sums.end()) == expected.get()
               ? ""
               : "the sum of the data read differs";
  });
  bench.measure({.bytes_read = static_cast<double>(bytes_read)}, launch);
}

void read_own_with_some(CudaBench& bench, unsigned sms, std::size_t wanted, std::size_t bytes_read,
                        std::span<const ReadShape> shapes) {
  const std::size_t bytes = bench.fitting_memory(wanted, kReadGranule);
  const auto data = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  read_with_some(bench, sms, data.data(), bytes, bytes_read, shapes);
}

void write_with_some(CudaBench& bench, unsigned sms, std::uint32_t* data, std::size_t bytes) {
  const auto chunks = static_cast<unsigned>(bytes / kWriteChunk);
  const OneBlockAnSm kernel(kernels::sms_write<kWriteUnroll, kWriteBatches>, sms);
  const auto launch = [&](cudaStream_t stream) {
    kernel.launch(stream, reinterpret_cast<uint4*>(data), chunks, chunks, kernel.counters(),
                  kWritten, kernel.sm_of());
  };
  bench.launch_once(launch);
  kernel.note_sms(bench);
  bench.note("footprint_bytes", static_cast<std::int64_t>(bytes));
  bench.verify([&] {
    PEAKLINE_CUDA(cudaMemsetAsync(data, 0xff, bytes, bench.stream()));
    bench.launch_once(launch);
    return count_differences("pattern written", [&](unsigned long long* differences) {
      kernels::reference_pattern<<<kAnyBlocks, kAnyThreads>>>(
          data, kWritten, bytes / sizeof(std::uint32_t), differences);
    });
  });
  bench.measure({.bytes_written = static_cast<double>(bytes)}, launch);
}

}  // namespace

unsigned sms_of(const CudaBench& bench) {
  if (bench.find_text("sms")) return bench.sm_count();
  const auto sms = static_cast<unsigned>(bench.integer("sms"));
  if (sms >= bench.sm_count())
    throw Skipped("the GPU has " + std::to_string(bench.sm_count()) + " SMs");
  return sms;
}

void sms_hbm(CudaBench& bench) {
  const unsigned sms = sms_of(bench);
  const std::size_t bytes = bench.beyond_l2(sms * kHbmBytesPerSm, kBeyondL2);
  read_own_with_some(bench, sms, bytes, bytes, kMemoryReads);
}

void sms_l2(CudaBench& bench) {
  const unsigned sms = sms_of(bench);
  const auto l2 = bench.device().l2_bytes;
  if (!l2) throw Skipped("the size of the L2 is not known");
  read_own_with_some(bench, sms, static_cast<std::size_t>(kShareOfL2 * static_cast<double>(*l2)),
                     sms * kL2BytesPerSm, kL2Reads);
}

void sms_peer(NodeBench& bench, bool reads) {
  const unsigned sms = sms_of(bench);
  bench.connect();
  const NodeGpu& peer = *bench.gpus()[1];
  // Links do not get faster with more than 32 SMs, so that more data would only take longer.
  const std::size_t bytes = bench.beyond_l2(std::min(sms, 32u) * kPeerBytesPerSm, kBeyondL2);
  bench.need_memory(bytes);
  const NodeBuffer<std::uint32_t> data(peer, bytes / sizeof(std::uint32_t));
  {
    const CurrentGpu current(peer);
    kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(data.data(), data.size(), bench.seed());
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  if (reads)
    read_with_some(bench, sms, data.data(), bytes, bytes, kMemoryReads);
  else
    write_with_some(bench, sms, data.data(), bytes);
}

}  // namespace peakline::bench

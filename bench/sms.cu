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
// Per SM and launch: 1 ms of device memory, 0.8 ms of the L2 on an H100, and 1 ms of its NVLinks,
// which do not get faster with more SMs than kMostSmsOfLink, so that more data would only take
// longer.
constexpr std::size_t kHbmBytesPerSm = std::size_t{64} << 20;
constexpr std::size_t kL2BytesPerSm = std::size_t{128} << 20;
constexpr std::size_t kLinkBytesPerSm = std::size_t{16} << 20;
constexpr unsigned kMostSmsOfLink = 32;
// The data take this share of the L2, which then holds them however it is partitioned (as in
// l2.read).
constexpr double kShareOfL2 = 0.4;
constexpr double kBeyondL2 = 4;

using Read = void(const uint4*, unsigned, unsigned, std::uint32_t*, unsigned*, unsigned*);
using Write = void(uint4*, unsigned, std::uint32_t, unsigned*, unsigned*);
// A kernel, and the bytes that a warp takes at a time.
struct ReadShape {
  Read* kernel;
  std::size_t chunk;
};
template <int kUnroll, int kBatches>
constexpr ReadShape read_shape() {
  return {kernels::sms_read<kUnroll, kBatches>, kernels::kSmsChunk<kUnroll, kBatches>};
}
// Which of these is the fastest depends on the number of SMs. The L2 needs long chunks, or the
// counters that hand them out limit it.
constexpr std::array kMemoryReads = {read_shape<8, 2>(), read_shape<4, 4>(), read_shape<2, 8>()};
constexpr std::array kL2Reads = {read_shape<8, 8>(), read_shape<4, 16>()};
constexpr double kSearchSeconds = 0.02;
constexpr int kWriteUnroll = 8, kWriteBatches = 2;
constexpr std::size_t kWriteChunk = kernels::kSmsChunk<kWriteUnroll, kWriteBatches>;
constexpr std::uint32_t kWritten = 0x9e3779b9u;

unsigned most_shared_bytes() {
  int device = 0, bytes = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<unsigned>(bytes);
}

// Launches blocks that leave no room beside them, and knows where they ran.
template <class Kernel>
class OneBlockAnSm {
 public:
  OneBlockAnSm(Kernel* kernel, unsigned sms)
      : kernel_(kernel), sms_(sms), shared_bytes_(most_shared_bytes()), sm_of_(sms) {
    PEAKLINE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared_bytes_)));
    PEAKLINE_CUDA(cudaMemset(counters_.data(), 0, counters_.size() * sizeof(unsigned)));
  }
  // params: the kernel's, without the counters and the SMs at its end.
  void launch(cudaStream_t stream, auto... params) const {
    kernel_<<<sms_, kernels::kSmsThreads, shared_bytes_, stream>>>(params..., counters_.data(),
                                                                   sm_of_.data());
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
  Kernel* kernel_;
  unsigned sms_, shared_bytes_;
  DeviceBuffer<unsigned> counters_{kernels::kSmsDone + 1}, sm_of_;
};

// Every shape's chunk divides it.
constexpr std::size_t kGranule = std::size_t{32} << 10;

// Reads `data`, of this GPU or of another, over and over until bytes_read; the fastest of the
// shapes counts.
void read_with_some(CudaBench& bench, unsigned sms, std::span<const std::uint32_t> data,
                    std::size_t bytes_read, std::span<const ReadShape> shapes) {
  bytes_read = bytes_read / kGranule * kGranule;
  const DeviceBuffer<std::uint32_t> of_warp(std::size_t{sms} * kWarps);
  std::deque<OneBlockAnSm<Read>> reads;
  for (const ReadShape& shape : shapes) reads.emplace_back(shape.kernel, sms);
  const auto launch_of = [&](std::size_t i) -> CudaBench::Launch {
    return [&, i](cudaStream_t stream) {
      reads[i].launch(stream, reinterpret_cast<const uint4*>(data.data()),
                      static_cast<unsigned>(data.size_bytes() / shapes[i].chunk),
                      static_cast<unsigned>(bytes_read / shapes[i].chunk), of_warp.data());
    };
  };
  const std::size_t best = bench.search(shapes.size(), launch_of, kSearchSeconds);
  const CudaBench::Launch launch = launch_of(best);
  bench.launch_once(launch);
  reads[best].note_sms(bench);
  bench.note("footprint_bytes", static_cast<std::int64_t>(data.size_bytes()));
  bench.note("shape", static_cast<std::int64_t>(best));
  bench.verify([&]() -> std::string {
    poison(of_warp, bench.stream());
    bench.launch_once(launch);
    const std::vector<std::uint32_t> sums = of_warp.to_host();
    const Accumulator<std::uint32_t> expected;
    kernels::reference_repeated_sum<<<kAnyBlocks, kAnyThreads>>>(
        data.data(), data.size(), data.size(), bytes_read / sizeof(std::uint32_t), expected.data());
    return std::reduce(sums.begin(), sums.end()) == expected.get()
               ? ""
               : "the sum of the data read differs";
  });
  bench.measure({.bytes_read = static_cast<double>(bytes_read)}, launch);
}

// The same of `wanted` random bytes of this GPU, or what fits.
void read_own_with_some(CudaBench& bench, unsigned sms, std::size_t wanted, std::size_t bytes_read,
                        std::span<const ReadShape> shapes) {
  const std::size_t bytes = bench.fitting_memory(wanted, kGranule);
  const auto data = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  read_with_some(bench, sms, {data.data(), data.size()}, bytes_read, shapes);
}

void write_with_some(CudaBench& bench, unsigned sms, std::span<std::uint32_t> data) {
  const OneBlockAnSm<Write> write(kernels::sms_write<kWriteUnroll, kWriteBatches>, sms);
  const auto launch = [&](cudaStream_t stream) {
    write.launch(stream, reinterpret_cast<uint4*>(data.data()),
                 static_cast<unsigned>(data.size_bytes() / kWriteChunk), kWritten);
  };
  bench.launch_once(launch);
  write.note_sms(bench);
  bench.note("footprint_bytes", static_cast<std::int64_t>(data.size_bytes()));
  bench.verify([&] {
    PEAKLINE_CUDA(cudaMemsetAsync(data.data(), 0xff, data.size_bytes(), bench.stream()));
    bench.launch_once(launch);
    return count_differences("pattern written", [&](unsigned long long* differences) {
      kernels::reference_pattern<<<kAnyBlocks, kAnyThreads>>>(data.data(), kWritten, data.size(),
                                                              differences);
    });
  });
  bench.measure({.bytes_written = static_cast<double>(data.size_bytes())}, launch);
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

void sms_link(NodeBench& bench, bool reads) {
  const unsigned sms = sms_of(bench);
  bench.connect();
  const NodeGpu& peer = *bench.gpus()[1];
  const std::size_t bytes =
      bench.beyond_l2(std::min(sms, kMostSmsOfLink) * kLinkBytesPerSm, kBeyondL2) / kGranule *
      kGranule;
  bench.need_memory(bytes);
  const NodeBuffer<std::uint32_t> buffer(peer, bytes / sizeof(std::uint32_t));
  {
    const CurrentGpu current(peer);
    kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(buffer.data(), buffer.size(), bench.seed());
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  const std::span data(buffer.data(), buffer.size());
  if (reads)
    read_with_some(bench, sms, data, bytes, kMemoryReads);
  else
    write_with_some(bench, sms, data);
}

}  // namespace peakline::bench

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
#include "kernels/sms.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr unsigned kWarps = kernels::kSmsThreads / 32;
// Per SM and launch: 1 ms of device memory, 0.8 ms of the L2 on an H100.
constexpr std::size_t kHbmBytesPerSm = std::size_t{64} << 20;
constexpr std::size_t kL2BytesPerSm = std::size_t{128} << 20;
// The data take this share of the L2, which then holds them however it is partitioned (as in
// l2.read).
constexpr double kShareOfL2 = 0.4;
constexpr double kBeyondL2 = 4;

// A kernel, and the bytes that a warp takes at a time.
struct ReadShape {
  void (*kernel)(const uint4*, unsigned, unsigned, unsigned*, std::uint32_t*, unsigned*);
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

unsigned most_shared_bytes() {
  int device = 0, bytes = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<unsigned>(bytes);
}

// Reads with blocks that leave no room beside them, and knows where they ran.
class OneBlockAnSm {
 public:
  OneBlockAnSm(const ReadShape& shape, unsigned sms)
      : shape_(shape),
        sms_(sms),
        shared_bytes_(most_shared_bytes()),
        of_warp_(sms * kWarps),
        sm_of_(sms) {
    PEAKLINE_CUDA(cudaFuncSetAttribute(shape.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared_bytes_)));
    PEAKLINE_CUDA(cudaMemset(counters_.data(), 0, counters_.size() * sizeof(unsigned)));
  }
  const DeviceBuffer<std::uint32_t>& of_warp() const { return of_warp_; }
  // bytes: of the data, which are read over and over until bytes_read; multiples of the chunk.
  void launch(cudaStream_t stream, const std::uint32_t* data, std::size_t bytes,
              std::size_t bytes_read) const {
    shape_.kernel<<<sms_, kernels::kSmsThreads, shared_bytes_, stream>>>(
        reinterpret_cast<const uint4*>(data), static_cast<unsigned>(bytes / shape_.chunk),
        static_cast<unsigned>(bytes_read / shape_.chunk), counters_.data(), of_warp_.data(),
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
  ReadShape shape_;
  unsigned sms_, shared_bytes_;
  DeviceBuffer<unsigned> counters_{kernels::kSmsDone + 1};
  DeviceBuffer<std::uint32_t> of_warp_;
  DeviceBuffer<unsigned> sm_of_;
};

// Every shape's chunk divides it.
constexpr std::size_t kReadGranule = std::size_t{32} << 10;

// Reads `wanted` random bytes, or what fits, over and over until bytes_read; the fastest of the
// shapes counts.
void read_with_some(CudaBench& bench, unsigned sms, std::size_t wanted, std::size_t bytes_read,
                    std::span<const ReadShape> shapes) {
  const std::size_t bytes = bench.fitting_memory(wanted, kReadGranule);
  bytes_read = bytes_read / kReadGranule * kReadGranule;
  const auto data = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  std::deque<OneBlockAnSm> reads;
  for (const ReadShape& shape : shapes) reads.emplace_back(shape, sms);
  const auto launch_of = [&](std::size_t i) -> CudaBench::Launch {
    return [&, i](cudaStream_t stream) { reads[i].launch(stream, data.data(), bytes, bytes_read); };
  };
  const std::size_t best = bench.search(shapes.size(), launch_of, kSearchSeconds);
  const CudaBench::Launch launch = launch_of(best);
  bench.launch_once(launch);
  reads[best].note_sms(bench);
  bench.note("footprint_bytes", static_cast<std::int64_t>(bytes));
  bench.note("shape", static_cast<std::int64_t>(best));
  bench.verify([&]() -> std::string {
    poison(reads[best].of_warp(), bench.stream());
    bench.launch_once(launch);
    const std::vector<std::uint32_t> sums = reads[best].of_warp().to_host();
    const Accumulator<std::uint32_t> expected;
    kernels::reference_repeated_sum<<<kAnyBlocks, kAnyThreads>>>(
        data.data(), data.size(), data.size(), bytes_read / sizeof(std::uint32_t), expected.data());
    return std::reduce(sums.begin(), sums.end()) == expected.get()
               ? ""
               : "the sum of the data read differs";
  });
  bench.measure({.bytes_read = static_cast<double>(bytes_read)}, launch);
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
  read_with_some(bench, sms, bytes, bytes, kMemoryReads);
}

void sms_l2(CudaBench& bench) {
  const unsigned sms = sms_of(bench);
  const auto l2 = bench.device().l2_bytes;
  if (!l2) throw Skipped("the size of the L2 is not known");
  read_with_some(bench, sms, static_cast<std::size_t>(kShareOfL2 * static_cast<double>(*l2)),
                 sms * kL2BytesPerSm, kL2Reads);
}

}  // namespace peakline::bench

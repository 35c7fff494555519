#include "harness/benchmark/cuda_data.cuh"
#include "kernels/gather.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr std::uint64_t kSectorBytes = 32;
// Enough accesses to last much longer than a launch takes to start, and done in milliseconds.
constexpr std::uint64_t kGathers = (std::uint64_t{1} << 29) / kSectorBytes;
constexpr unsigned kThreads = 256;

}  // namespace

void random_gather(CudaBench& bench) {
  const auto bytes = static_cast<std::uint64_t>(bench.integer("bytes"));
  const auto words = random_words(bench.fitting_memory(bytes, bytes) / 4, bench.seed());
  const std::uint64_t sectors = bytes / kSectorBytes;
  int fit = 0;
  PEAKLINE_CUDA(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernels::random_gather, kThreads, 0));
  const unsigned blocks = bench.sm_count() * static_cast<unsigned>(fit);
  const DeviceBuffer<std::uint32_t> out(std::size_t{blocks} * kThreads);
  const auto launch = [&](cudaStream_t stream) {
    kernels::random_gather<<<blocks, kThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(words.data()), kGathers, sectors, bench.seed(), out.data());
  };
  bench.verify([&]() -> std::string {
    poison(out, bench.stream());
    bench.launch_once(launch);
    const Accumulator<std::uint32_t> expected;
    kernels::reference_gather<<<kAnyBlocks, kAnyThreads>>>(words.data(), kGathers, sectors,
                                                           bench.seed(), expected.data());
    return xor_of(out.data(), out.size()) == expected.get() ? ""
                                                            : "the XOR of the sectors read differs";
  });
  bench.measure({.bytes_read = static_cast<double>(kGathers * kSectorBytes)}, launch);
}

}  // namespace peakline::bench

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/roofline.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using kernels::kRooflineThreads;
using kernels::kRooflineUnroll;
using kernels::Vec16;

// Far beyond any L2, yet fast enough at 1024 FMAs.
constexpr std::size_t kBytes = std::size_t{1} << 30;

template <class T>
void measure_roofline(CudaBench& bench) {
  using Vec = typename Vec16<T>::type;
  constexpr std::size_t kTileBytes = sizeof(Vec) * kRooflineThreads * kRooflineUnroll;
  constexpr auto kA = static_cast<T>(kFmaFactor), kB = static_cast<T>(kFmaAddend);
  const auto fmas = static_cast<int>(bench.integer("fma_per_element"));
  // One wave of blocks with equal shares: with more waves, a few blocks run on alone at the end.
  int blocks_per_sm = 0;
  PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks_per_sm, kernels::roofline_sweep<T>, kRooflineThreads, 0));
  const unsigned blocks = bench.sm_count() * static_cast<unsigned>(blocks_per_sm);
  const std::size_t bytes = bench.fit_memory(kBytes, blocks * kTileBytes);
  const auto data = random_normal<T>(bytes / sizeof(T), bench.seed());
  const Accumulator<std::uint32_t> result;
  const auto launch = [&](cudaStream_t stream) {
    kernels::roofline_sweep<T>
        <<<blocks, kRooflineThreads, 0, stream>>>(reinterpret_cast<const Vec*>(data.data()),
                                                  bytes / sizeof(Vec), kA, kB, fmas, result.data());
  };
  bench.verify([&]() -> std::string {
    result.reset();
    bench.launch_once(launch);
    const Accumulator<std::uint32_t> expected;
    kernels::reference_fma_xor<<<kAnyBlocks, kAnyThreads>>>(data.data(), data.size(), kA, kB, fmas,
                                                            expected.data());
    return result.get() == expected.get() ? "" : "the XOR of the results differs";
  });
  bench.note("blocks_per_sm", std::int64_t{blocks_per_sm});
  bench.note("threads", std::int64_t{kRooflineThreads});
  bench.note("unroll", std::int64_t{kRooflineUnroll});
  const double elements = static_cast<double>(bytes / sizeof(T));
  bench.measure({.bytes_read = static_cast<double>(bytes), .flops = 2.0 * fmas * elements}, launch);
}

}  // namespace

void roofline_sweep_fp32(CudaBench& bench) { measure_roofline<float>(bench); }
void roofline_sweep_fp64(CudaBench& bench) { measure_roofline<double>(bench); }

}  // namespace peakline::bench

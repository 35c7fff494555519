// Where does a kernel stop being memory-bound? One kernel, more and more FMAs per loaded element.

#include "harness/benchmark/cuda_data.cuh"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
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
void roofline_sweep(CudaBench& bench) {
  using Vec = typename Vec16<T>::type;
  constexpr std::size_t kTileBytes = sizeof(Vec) * kRooflineThreads * kRooflineUnroll;
  constexpr auto kA = static_cast<T>(kFmaFactor), kB = static_cast<T>(kFmaAddend);
  const auto fmas = static_cast<int>(bench.integer("fma_per_element"));
  // One wave of blocks, all with the same share: with more, a few would run on alone at the end.
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

std::vector<Point> sweep_points() {
  std::vector<Point> points;
  const auto add = [&](std::int64_t fmas) {
    points.push_back({.params = {{"fma_per_element", fmas}},
                      .phase = Phase::kDevice,
                      .rule = Rule::kCurve,
                      .quick = fmas == 0 || fmas == 8 || fmas == 32 || fmas == 256,
                      .seconds = 0.1 + 1e-4 * static_cast<double>(fmas)});
  };
  add(0);
  // Steps of about the square root of two around the ridge, where the curve bends.
  for (const std::int64_t fmas : {1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024})
    add(fmas);
  return points;
}

}  // namespace

void register_roofline(Registry& registry) {
  const auto add = [&](const std::string& precision, const char* what, void (*run)(CudaBench&)) {
    registry.add({.id = "roofline.sweep." + precision,
                  .what = what,
                  .work = "2 FLOP per FMA, bytes read; with 0 FMAs only the bytes count",
                  .quantity = Quantity::kFlopRate,
                  .method_version = 2,  // 1 ran in unequal waves
                  .loads = Loads::kCores,
                  .limit = under_roofline(("cuda_core." + precision).c_str()),
                  .curves = {knee_curve("roofline sweep", precision)},
                  .roofline_precision = precision,
                  .points = sweep_points()},
                 run);
  };
  add("fp32", "FP32 throughput on data from device memory, by FMAs per element",
      roofline_sweep<float>);
  add("fp64", "FP64 throughput on data from device memory, by FMAs per element",
      roofline_sweep<double>);
}

}  // namespace peakline::bench

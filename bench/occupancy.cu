#include <algorithm>
#include <cmath>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/occupancy.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
// Many times an L2, and done in milliseconds even with one load in flight per thread.
constexpr std::uint64_t kReadBytes = kGiB / 2;
constexpr double kReadL2s = 4;
constexpr std::int64_t kWarpsOfBlock = 32;
constexpr unsigned kWarp = 32;

// About a millisecond, from the latency of an FMA and the most an SM does.
constexpr double kFmaLaunchClocks = 2e6;
constexpr double kFmaClocks = 4, kFmasPerClock = 128;
constexpr int kFmaVerifiedTrips = 2;

// Blocks per SM, and threads per block, for a number of warps per SM.
struct Shape {
  unsigned blocks_per_sm, threads;
};
Shape shape_of(std::int64_t warps) {
  const std::int64_t blocks = (warps + kWarpsOfBlock - 1) / kWarpsOfBlock;
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(warps / blocks) * kWarp};
}

template <class Kernel>
unsigned resident_blocks(const CudaBench& bench, Kernel kernel, const Shape& shape) {
  int fit = 0;
  PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel,
                                                              static_cast<int>(shape.threads), 0));
  if (fit < static_cast<int>(shape.blocks_per_sm))
    throw Skipped("an SM cannot hold so many warps at once");
  return bench.sm_count() * shape.blocks_per_sm;
}

template <int kInFlight>
void read_with(CudaBench& bench, const Shape& shape) {
  const unsigned blocks = resident_blocks(bench, kernels::occupancy_read<kInFlight>, shape);
  const std::size_t bytes = bench.beyond_l2(kReadBytes, kReadL2s);
  const auto words = random_words(bench.fitting_memory(bytes, bytes) / 4, bench.seed());
  const DeviceBuffer<std::uint32_t> out(std::size_t{blocks} * shape.threads);
  const std::size_t count = words.size() * sizeof(std::uint32_t) / sizeof(uint4);
  const auto launch = [&](cudaStream_t stream) {
    kernels::occupancy_read<kInFlight><<<blocks, shape.threads, 0, stream>>>(
        reinterpret_cast<const uint4*>(words.data()), count, out.data());
  };
  bench.verify([&]() -> std::string {
    poison(out, bench.stream());
    bench.launch_once(launch);
    return xor_of(out.data(), out.size()) == xor_of(words.data(), words.size())
               ? ""
               : "the XOR of the data read differs";
  });
  bench.measure({.bytes_read = static_cast<double>(bytes)}, launch);
}

template <int kChains>
void fma_with(CudaBench& bench, const Shape& shape) {
  const unsigned blocks = resident_blocks(bench, kernels::occupancy_fma<kChains>, shape);
  std::vector<float> start;
  for (int i = 0; i < 32; ++i)
    start.push_back(1 + kernels::unit_interval(
                            static_cast<std::uint32_t>(kernels::random_bits(bench.seed(), i))));
  const DeviceBuffer<float> start_data(start.size());
  start_data.from_host(start);
  const DeviceBuffer<float> out(std::size_t{blocks} * shape.threads);
  const auto launch_of = [&](int trips) -> CudaBench::Launch {
    return [&, trips](cudaStream_t stream) {
      kernels::occupancy_fma<kChains>
          <<<blocks, shape.threads, 0, stream>>>(start_data.data(), out.data(), trips);
    };
  };
  bench.verify([&]() -> std::string {
    poison(out, bench.stream());
    bench.launch_once(launch_of(kFmaVerifiedTrips));
    std::vector<float> expected(start.size());
    for (std::size_t i = 0; i < start.size(); ++i)
      for (int c = 0; c < kChains; ++c) {
        float x = start[i] * static_cast<float>(c + 1);
        for (int step = 0; step < kFmaVerifiedTrips * kernels::kOccupancyFmas; ++step)
          x = std::fma(x, kernels::kOccupancyFactor, x);
        expected[i] = c == 0 ? x : expected[i] + x;
      }
    const std::vector<float> found = out.to_host();
    for (std::size_t thread = 0; thread < found.size(); ++thread)
      if (found[thread] != expected[thread % expected.size()])
        return "thread " + std::to_string(thread) + " has another result than the host";
    return "";
  });
  const double threads = static_cast<double>(out.size());
  const double clocks_of_step =
      std::max(kFmaClocks,
               shape.blocks_per_sm * shape.threads * static_cast<double>(kChains) / kFmasPerClock);
  const int trips = static_cast<int>(kFmaLaunchClocks / (clocks_of_step * kernels::kOccupancyFmas));
  bench.note("trips", std::int64_t{trips});
  bench.measure({.flops = 2 * threads * kChains * kernels::kOccupancyFmas * trips},
                launch_of(trips));
}

}  // namespace

void occupancy_hbm(CudaBench& bench) {
  const Shape shape = shape_of(bench.integer("warps"));
  switch (bench.integer("loads")) {
    case 1:
      return read_with<1>(bench, shape);
    case 2:
      return read_with<2>(bench, shape);
    case 4:
      return read_with<4>(bench, shape);
    default:
      return read_with<8>(bench, shape);
  }
}

void occupancy_fma(CudaBench& bench) {
  const Shape shape = shape_of(bench.integer("warps"));
  switch (bench.integer("chains")) {
    case 1:
      return fma_with<1>(bench, shape);
    case 2:
      return fma_with<2>(bench, shape);
    case 4:
      return fma_with<4>(bench, shape);
    default:
      return fma_with<8>(bench, shape);
  }
}

}  // namespace peakline::bench

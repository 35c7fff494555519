#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ranges>
#include <utility>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/cache.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr std::size_t kL2TileBytes = kernels::kL2Tile * sizeof(uint4);
// Mean bytes per SM and footprint: 2 ms on an H200 at a third of 128 B per clock, so that launch
// and first pass cost below 0.3 %. A search moves a part of it.
constexpr std::size_t kL2BytesPerSm = std::size_t{128} << 20;
constexpr unsigned kSearchPart = 4;
constexpr double kSearchSeconds = 0.3;
// On an H200 three shapes of writes are 0.14 and 0.32 % apart; a smaller tolerance would make the
// choice vary. Compares seconds, not cycles: the L2's rate does not follow the SM clock.
constexpr double kSearchTolerance = 0.005;
// Launches go over several footprints, since the rate depends by 0.2 % on where the data lie.
constexpr std::size_t kL2Footprints = 4;
constexpr std::uint32_t kWritten = 0x9e3779b9u;

// A kernel over tiles of the L2, with `unroll` accesses in flight per thread.
struct L2Shape {
  const void* kernel;
  void (*launch)(unsigned blocks, unsigned threads, cudaStream_t stream, uint4* data,
                 unsigned tiles, std::uint32_t* of_warp);
  unsigned unroll, threads;

  // With as many blocks as fit on all SMs.
  std::size_t bytes_in_flight(unsigned sms) const {
    int fit = 0;
    PEAKLINE_CUDA(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, static_cast<int>(threads), 0));
    return std::size_t{sms} * static_cast<unsigned>(fit) * threads * unroll * sizeof(uint4);
  }
};

template <int kUnroll>
L2Shape l2_read_shape(unsigned threads) {
  constexpr auto kKernel = kernels::l2_read<kUnroll>;
  return {reinterpret_cast<const void*>(kKernel),
          [](unsigned blocks, unsigned block_threads, cudaStream_t stream, uint4* data,
             unsigned tiles, std::uint32_t* of_warp) {
            kKernel<<<blocks, block_threads, 0, stream>>>(data, tiles, blocks, of_warp);
          },
          kUnroll, threads};
}
template <int kUnroll>
L2Shape l2_write_shape(unsigned threads) {
  constexpr auto kKernel = kernels::l2_write<kUnroll>;
  return {reinterpret_cast<const void*>(kKernel),
          [](unsigned blocks, unsigned block_threads, cudaStream_t stream, uint4* data,
             unsigned tiles, std::uint32_t*) {
            kKernel<<<blocks, block_threads, 0, stream>>>(data, tiles, blocks, kWritten);
          },
          kUnroll, threads};
}

// Ties go to the first shape: the one that mostly is the fastest on an H200.
constexpr std::array kL2Threads = {128u, 256u, kernels::kMostL2Threads};
std::vector<L2Shape> l2_reads() {
  std::vector<L2Shape> all;
  for (const unsigned threads : kL2Threads)
    all.insert(all.end(), {l2_read_shape<4>(threads), l2_read_shape<8>(threads),
                           l2_read_shape<2>(threads), l2_read_shape<1>(threads)});
  return all;
}
std::vector<L2Shape> l2_writes() {
  std::vector<L2Shape> all;
  for (const unsigned threads : kL2Threads | std::views::reverse)
    all.insert(all.end(), {l2_write_shape<1>(threads), l2_write_shape<2>(threads),
                           l2_write_shape<4>(threads)});
  return all;
}

// All SMs go over the footprints together, one footprint after the other.
class L2Passes {
 public:
  L2Passes(CudaBench& bench, std::vector<L2Shape> candidates)
      : bench_(bench),
        tiles_(tiles_of(bench)),
        blocks_(static_cast<unsigned>(kL2BytesPerSm / kL2TileBytes) * bench.sm_count()),
        shape_(fastest(std::move(candidates))) {}

  void measure_reads() const {
    const DeviceBuffer<std::uint32_t> data = footprints();
    const DeviceBuffer<std::uint32_t> of_warp(std::size_t{blocks_} * shape_.threads / 32);
    note();
    bench_.verify([&]() -> std::string {
      for (std::size_t i = 0; i < kL2Footprints; ++i) {
        poison(of_warp, bench_.stream());
        bench_.launch_once(launch(shape_, at(data, i), blocks_, of_warp.data()));
        const std::vector<std::uint32_t> sums = of_warp.to_host();
        const Accumulator<std::uint32_t> expected;
        kernels::reference_repeated_sum<<<kAnyBlocks, kAnyThreads>>>(
            at(data, i), words_of_one(), words_of_one(),
            blocks_ * kL2TileBytes / sizeof(std::uint32_t), expected.data());
        if (std::reduce(sums.begin(), sums.end()) != expected.get())
          return "the sum of the data read differs";
      }
      return "";
    });
    bench_.measure({.bytes_read = bytes()}, launch_of_all(data, of_warp.data()));
  }

  void measure_writes() const {
    const DeviceBuffer<std::uint32_t> data = footprints();
    note();
    bench_.verify([&]() -> std::string {
      poison(data, bench_.stream());
      for (std::size_t i = 0; i < kL2Footprints; ++i)
        bench_.launch_once(launch(shape_, at(data, i), tiles_, nullptr));
      return count_differences("pattern written", [&](unsigned long long* differences) {
        for (std::size_t i = 0; i < kL2Footprints; ++i)
          kernels::reference_pattern<<<kAnyBlocks, kAnyThreads>>>(at(data, i), kWritten,
                                                                  words_of_one(), differences);
      });
    });
    bench_.measure({.bytes_written = bytes()}, launch_of_all(data, nullptr));
  }

 private:
  static unsigned tiles_of(const CudaBench& bench) {
    const auto l2 = bench.device().l2_bytes;
    if (!l2) throw Skipped("the size of the L2 is not known");
    const double share = static_cast<double>(bench.integer("percent_of_l2")) / 100;
    const double tiles = static_cast<double>(*l2) * share / kL2TileBytes;
    return static_cast<unsigned>(std::max(std::lround(tiles), 1l));
  }

  // Searched once per benchmark, on one footprint. Shapes have less in flight than the footprint:
  // else, of blocks that share a tile, later ones could read lines already on their way.
  L2Shape fastest(std::vector<L2Shape> candidates) const {
    const auto in_flight = [&](const L2Shape& shape) {
      return shape.bytes_in_flight(bench_.sm_count());
    };
    const std::size_t least = std::ranges::min(candidates | std::views::transform(in_flight));
    const std::size_t most = std::max(least, tiles_ * kL2TileBytes);
    const auto chosen = bench_.remember<std::size_t>(bench_.record().id, [&] {
      std::vector<std::size_t> few;
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if (in_flight(candidates[i]) <= most) few.push_back(i);
      const auto data = random_words(words_of_one(), bench_.seed());
      const DeviceBuffer<std::uint32_t> of_warp(std::size_t{blocks_} * kernels::kMostL2Threads /
                                                32);
      return few[bench_.search(few.size(),
                               [&](std::size_t i) {
                                 return launch(candidates[few[i]], data.data(),
                                               blocks_ / kSearchPart, of_warp.data());
                               },
                               kSearchSeconds, {.tolerance = kSearchTolerance})];
    });
    return candidates[chosen];
  }

  std::size_t words_of_one() const { return tiles_ * kL2TileBytes / sizeof(std::uint32_t); }
  DeviceBuffer<std::uint32_t> footprints() const {
    const std::size_t words = kL2Footprints * words_of_one();
    const std::size_t all = words * sizeof(std::uint32_t);
    bench_.fitting_memory(all, all);
    return random_words(words, bench_.seed());
  }
  std::uint32_t* at(const DeviceBuffer<std::uint32_t>& data, std::size_t footprint) const {
    return data.data() + footprint * words_of_one();
  }
  double bytes() const { return static_cast<double>(blocks_ * kL2TileBytes * kL2Footprints); }

  CudaBench::Launch launch(const L2Shape& shape, std::uint32_t* data, unsigned blocks,
                           std::uint32_t* of_warp) const {
    return [=, this](cudaStream_t stream) {
      shape.launch(blocks, shape.threads, stream, reinterpret_cast<uint4*>(data), tiles_, of_warp);
    };
  }
  CudaBench::Launch launch_of_all(const DeviceBuffer<std::uint32_t>& data,
                                  std::uint32_t* of_warp) const {
    return {[this, &data, of_warp](cudaStream_t stream) {
              for (std::size_t i = 0; i < kL2Footprints; ++i)
                launch(shape_, at(data, i), blocks_, of_warp)(stream);
            },
            {.operations = static_cast<std::int64_t>(kL2Footprints)}};
  }

  void note() const {
    bench_.note("footprint_bytes", static_cast<std::int64_t>(tiles_ * kL2TileBytes));
    bench_.note("tile_bytes", static_cast<std::int64_t>(kL2TileBytes));
    bench_.note("threads", std::int64_t{shape_.threads});
    bench_.note("width", static_cast<std::int64_t>(sizeof(uint4)));
    bench_.note("unroll", std::int64_t{shape_.unroll});
  }

  CudaBench& bench_;
  unsigned tiles_;   // per footprint
  unsigned blocks_;  // per footprint
  L2Shape shape_;
};

}  // namespace

void l2_read(CudaBench& bench) { L2Passes(bench, l2_reads()).measure_reads(); }
void l2_write(CudaBench& bench) { L2Passes(bench, l2_writes()).measure_writes(); }

}  // namespace peakline::bench

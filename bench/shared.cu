#include "bench/clusters.cuh"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/shared.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr std::size_t kMiB = std::size_t{1} << 20;
// Bytes that an SM moves in one launch: 2 ms at 128 B per clock, so that the launch costs little.
constexpr std::size_t kBytesPerSm = 512 * kMiB;
// A pass with conflicts takes up to 32 times as long.
constexpr std::size_t kConflictBytesPerSm = 64 * kMiB;
// Bytes that an SM reads from another one.
constexpr std::size_t kClusterBytesPerSm = 128 * kMiB;
constexpr double kSearchSeconds = 0.1;
constexpr std::uint32_t kWritten = 0x9e3779b9u;
constexpr unsigned kWarp = 32;
constexpr unsigned kMostBlocksPerSm = 2;
constexpr unsigned kLeastThreads = 256;
// With blocks of 256, an H200 reads at one of two rates 1.5 % apart, changing between launches.
constexpr unsigned kThreadsOfSteadyReads = 512;
constexpr std::size_t kMostSlotBytes = 32 * 1024;  // per block

using Read = void (*)(const uint4*, unsigned, std::uint32_t*);
using Write = void (*)(std::uint32_t, unsigned, std::uint32_t*);

template <class Kernel>
struct Shape {
  Kernel kernel;
  int unroll;
  unsigned threads, blocks_per_sm;

  std::size_t shared_bytes() const { return kernels::slot_bytes(threads, unroll); }
  unsigned trips(std::size_t bytes_per_sm) const {
    return static_cast<unsigned>(bytes_per_sm / blocks_per_sm / shared_bytes());
  }
};

template <class Kernel>
std::vector<Shape<Kernel>> shapes(std::initializer_list<std::pair<Kernel, int>> kernels,
                                  unsigned least_threads) {
  std::vector<Shape<Kernel>> all;
  for (const auto& [kernel, unroll] : kernels)
    for (unsigned threads = least_threads; threads <= kernels::kMostSharedThreads; threads *= 2)
      for (const unsigned blocks : {1u, kMostBlocksPerSm})
        if (const Shape<Kernel> shape{kernel, unroll, threads, blocks};
            shape.shared_bytes() <= kMostSlotBytes)
          all.push_back(shape);
  return all;
}

class WarpSums {
 public:
  WarpSums(unsigned blocks, unsigned threads)
      : sums_(std::size_t{blocks} * (threads / kWarp)), per_block_(threads / kWarp) {}

  std::uint32_t* data() const { return sums_.data(); }

  // Launches once and compares each with expected(block, warp of the block).
  template <class Expected>
  std::string find_mismatch(CudaBench& bench, const CudaBench::Launch& launch,
                            Expected expected) const {
    poison(sums_, bench.stream());
    bench.launch_once(launch);
    const std::vector<std::uint32_t> found = sums_.to_host();
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] !=
          expected(static_cast<unsigned>(i) / per_block_, static_cast<unsigned>(i) % per_block_))
        return "the sum of warp " + std::to_string(i) + " differs from the host's";
    return "";
  }

 private:
  DeviceBuffer<std::uint32_t> sums_;
  unsigned per_block_;
};

template <class OfSlot>
std::uint32_t sum_over_slots(unsigned warp, unsigned threads, int unroll, OfSlot of_slot) {
  std::uint32_t sum = 0;
  for (unsigned u = 0; u < static_cast<unsigned>(unroll); ++u)
    for (unsigned lane = 0; lane < kWarp; ++lane) sum += of_slot(u * threads + warp * kWarp + lane);
  return sum;
}

std::uint32_t sum_of_slot(const std::vector<std::uint32_t>& words, unsigned slot) {
  return words[4 * slot] + words[4 * slot + 1] + words[4 * slot + 2] + words[4 * slot + 3];
}

// of_warp(shape, warp): the expected sum of that warp of any block.
template <class Kernel, class LaunchInto, class OfWarp>
void measure_fastest(CudaBench& bench, const Work& work,
                     const std::vector<Shape<Kernel>>& candidates, LaunchInto launch_into,
                     OfWarp of_warp) {
  const auto best = bench.remember<std::size_t>(bench.record().id, [&] {
    const WarpSums any(kMostBlocksPerSm * bench.sm_count(), kernels::kMostSharedThreads);
    return bench.search(
        candidates.size(), [&](std::size_t i) { return launch_into(candidates[i], any); },
        kSearchSeconds, cost_on_chip());
  });
  const Shape<Kernel>& shape = candidates[best];
  bench.note("blocks_per_sm", std::int64_t{shape.blocks_per_sm});
  bench.note("threads", std::int64_t{shape.threads});
  bench.note("unroll", std::int64_t{shape.unroll});
  const WarpSums sums(bench.sm_count() * shape.blocks_per_sm, shape.threads);
  const CudaBench::Launch launch = launch_into(shape, sums);
  bench.verify([&] {
    return sums.find_mismatch(bench, launch,
                              [&](unsigned, unsigned warp) { return of_warp(shape, warp); });
  });
  bench.measure(work, launch);
}

constexpr int kClusterUnroll = 4;

Read cluster_kernel(std::int64_t size) {
  switch (size) {
    case 1:
      return kernels::dsmem_read<1, kClusterUnroll>;
    case 2:
      return kernels::dsmem_read<2, kClusterUnroll>;
    case 4:
      return kernels::dsmem_read<4, kClusterUnroll>;
    case 8:
      return kernels::dsmem_read<8, kClusterUnroll>;
    default:
      return kernels::dsmem_read<16, kClusterUnroll>;
  }
}

}  // namespace

void shared_read(CudaBench& bench) {
  const auto content = random_words(kMostSlotBytes / sizeof(std::uint32_t), bench.seed());
  const std::vector<std::uint32_t> words = content.to_host();
  measure_fastest(
      bench, {.bytes_read = static_cast<double>(kBytesPerSm) * bench.sm_count()},
      shapes<Read>({{kernels::shared_read<2>, 2},
                    {kernels::shared_read<4>, 4},
                    {kernels::shared_read<8>, 8}},
                   kThreadsOfSteadyReads),
      [&](const Shape<Read>& shape, const WarpSums& sums) {
        return [&, shape](cudaStream_t stream) {
          shape.kernel<<<bench.sm_count() * shape.blocks_per_sm, shape.threads,
                         shape.shared_bytes(), stream>>>(
              reinterpret_cast<const uint4*>(content.data()), shape.trips(kBytesPerSm),
              sums.data());
        };
      },
      [&](const Shape<Read>& shape, unsigned warp) {
        return shape.trips(kBytesPerSm) *
               sum_over_slots(warp, shape.threads, shape.unroll,
                              [&](unsigned slot) { return sum_of_slot(words, slot); });
      });
}

void shared_write(CudaBench& bench) {
  measure_fastest(
      bench, {.bytes_written = static_cast<double>(kBytesPerSm) * bench.sm_count()},
      shapes<Write>({{kernels::shared_write<2>, 2},
                     {kernels::shared_write<4>, 4},
                     {kernels::shared_write<8>, 8}},
                    kLeastThreads),
      [&](const Shape<Write>& shape, const WarpSums& sums) {
        return [&, shape](cudaStream_t stream) {
          shape.kernel<<<bench.sm_count() * shape.blocks_per_sm, shape.threads,
                         shape.shared_bytes(), stream>>>(kWritten, shape.trips(kBytesPerSm),
                                                         sums.data());
        };
      },
      [](const Shape<Write>& shape, unsigned warp) {
        return sum_over_slots(warp, shape.threads, shape.unroll, [&](unsigned slot) {
          return kernels::sum_of(
              kernels::shared_pattern(kWritten, shape.trips(kBytesPerSm) - 1, slot));
        });
      });
}

void shared_conflicts(CudaBench& bench) {
  constexpr unsigned kThreads = kernels::kMostSharedThreads;
  constexpr auto kTrips = static_cast<unsigned>(kConflictBytesPerSm / kThreads /
                                                kernels::kConflictUnroll / sizeof(std::uint32_t));
  const auto ways = static_cast<unsigned>(bench.integer("ways"));
  const auto content = random_words(kernels::kConflictWords, bench.seed());
  const WarpSums sums(bench.sm_count(), kThreads);
  const auto launch = [&](cudaStream_t stream) {
    kernels::shared_conflicts<<<bench.sm_count(), kThreads, 0, stream>>>(content.data(), ways,
                                                                         kTrips, sums.data());
  };
  bench.verify([&] {
    const std::vector<std::uint32_t> words = content.to_host();
    std::uint32_t sum = 0;
    for (unsigned u = 0; u < kernels::kConflictUnroll; ++u)
      for (unsigned lane = 0; lane < kWarp; ++lane)
        sum += words[u * kernels::kBanks * kernels::kBanks + kernels::conflicting_word(lane, ways)];
    return sums.find_mismatch(bench, launch, [&](unsigned, unsigned) { return kTrips * sum; });
  });
  bench.measure({.bytes_read = static_cast<double>(kConflictBytesPerSm) * bench.sm_count()},
                launch);
}

void dsmem_read(CudaBench& bench) {
  constexpr unsigned kThreads = kernels::kMostSharedThreads;
  constexpr std::size_t kSlots = std::size_t{kThreads} * kClusterUnroll;
  constexpr auto kTrips = static_cast<unsigned>(kClusterBytesPerSm / kSlots / sizeof(uint4));
  const std::int64_t size = bench.integer("cluster");
  const Clusters clusters(bench, cluster_kernel(size), static_cast<unsigned>(size), kThreads);
  const auto content = random_words(4 * kSlots, bench.seed());
  const WarpSums sums(clusters.blocks(), kThreads);
  const auto launch = [&](cudaStream_t stream) {
    clusters.launch(stream, reinterpret_cast<const uint4*>(content.data()), kTrips, sums.data());
  };
  bench.verify([&] {
    const std::vector<std::uint32_t> words = content.to_host();
    std::vector<std::uint32_t> own;  // by warp, of a block of rank 0
    for (unsigned warp = 0; warp < kThreads / kWarp; ++warp)
      own.push_back(sum_over_slots(warp, kThreads, kClusterUnroll,
                                   [&](unsigned slot) { return sum_of_slot(words, slot); }));
    return sums.find_mismatch(bench, launch, [&](unsigned block, unsigned warp) {
      const unsigned next = (block + 1) % clusters.size();
      return kTrips * (own[warp] + next * kWarp * kClusterUnroll);
    });
  });
  bench.note("blocks", std::int64_t{clusters.blocks()});
  bench.measure({.bytes_read = static_cast<double>(kClusterBytesPerSm) * clusters.blocks()},
                launch);
}

}  // namespace peakline::bench

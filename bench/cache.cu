// How fast are the caches, and how much do they hold?

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ranges>
#include <set>
#include <utility>

#include "harness/benchmark/cuda_data.cuh"
#include "harness/core/curves.hpp"
#include "harness/core/limits.hpp"
#include "kernels/cache.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
// Half of the smallest L1 there is.
constexpr std::size_t kL1Footprint = 32 * kKiB;
constexpr std::size_t kL2TileBytes = kernels::kL2Tile * sizeof(uint4);
// Of the L2, in percent: first that of the ceiling, which is hit however the L2 is divided, where
// the shape is searched; then those on both sides of it.
constexpr std::array<std::int64_t, 3> kL2Shares{40, 25, 60};
// What an SM moves over one footprint, of the L2 on average, beside which the start and the first
// pass are below 0.3 % on an H200: some 2 ms at 128 B per clock from the L1 or at a third of that
// from the L2. A search of the L2 moves a part of it.
constexpr std::size_t kL1BytesPerSm = 512 * kMiB, kL2BytesPerSm = 128 * kMiB;
constexpr unsigned kSearchPart = 4;
// The sweep's: 0.5 ms from the L1, 4 ms from memory.
constexpr std::size_t kSweepBytesPerSm = 128 * kMiB;
constexpr int kPointsPerOctave = 4;
constexpr double kSearchSeconds = 0.3;
// Shapes of the L1 closer than this could take turns from run to run; the more so by seconds
// instead of cycles, as the clock of an H200 moves by 0.8 % during a search.
constexpr double kEqualL1Shapes = 0.005;
// The L2's rate depends on where in memory its data lies, by 0.2 %, so a launch goes over several
// footprints, one after the other.
constexpr std::size_t kL2Footprints = 4;
constexpr std::uint32_t kWritten = 0x9e3779b9u;

// What a launch goes over: each block `chunks` chunks of its own.
struct Job {
  const void* data;
  unsigned chunks, trips;
  std::uint32_t* of_warp;
};

// A kernel with its accesses of `width` bytes, `unroll` of a thread in flight.
struct Way {
  const void* kernel;
  unsigned width, unroll;
  void (*launch)(dim3 blocks, dim3 threads, cudaStream_t stream, const Job& job);
};

template <class Cache, class Vec, int kUnroll>
Way read_way() {
  constexpr auto kKernel = kernels::cached_read<Cache, Vec, kUnroll>;
  return {reinterpret_cast<const void*>(kKernel), sizeof(Vec), kUnroll,
          [](dim3 blocks, dim3 threads, cudaStream_t stream, const Job& job) {
            kKernel<<<blocks, threads, 0, stream>>>(static_cast<const Vec*>(job.data), job.chunks,
                                                    job.trips, job.of_warp);
          }};
}

// An SM reads its L1 a little faster with accesses of 4 and 8 bytes than of 16. Several shapes are
// equal in a search, which takes the first of them: 8 loads of 8 bytes, whose median over a run was
// the lowest on two H200s (2.124 to 2.127 ms in five runs of six; with 4 loads 2.129 to 2.137).
std::vector<Way> l1_reads() {
  using kernels::ThroughL1;
  return {read_way<ThroughL1, uint2, 8>(), read_way<ThroughL1, uint2, 4>(),
          read_way<ThroughL1, std::uint32_t, 8>(), read_way<ThroughL1, std::uint32_t, 16>(),
          read_way<ThroughL1, uint4, 4>()};
}

struct Shape {
  Way way;
  unsigned threads, blocks_per_sm;

  std::size_t chunk_bytes() const { return std::size_t{32} * way.width * way.unroll; }
  // That a block moves in one trip, and has in flight.
  std::size_t trip_bytes() const { return std::size_t{threads} * way.width * way.unroll; }
};

void prefer_l1(const Way& way) {
  PEAKLINE_CUDA(cudaFuncSetAttribute(way.kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxL1));
}

// Those that fit on an SM and whose warps have parts of their own of `part` bytes of an SM.
std::vector<Shape> shapes(const std::vector<Way>& ways, std::size_t part) {
  std::vector<Shape> all;
  for (const Way& way : ways) {
    prefer_l1(way);
    for (const unsigned threads : {512u, kernels::kMostCacheThreads}) {
      int fit = 0;
      PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, way.kernel,
                                                                  static_cast<int>(threads), 0));
      for (unsigned blocks = 1; blocks <= static_cast<unsigned>(fit); blocks *= 2)
        if (const Shape shape{way, threads, blocks}; part % (blocks * shape.trip_bytes()) == 0)
          all.push_back(shape);
    }
  }
  return all;
}

// A footprint of which each SM has an equal part, and the launches of any shape over it.
class Passes {
 public:
  Passes(CudaBench& bench, std::size_t footprint_of_sm, std::size_t bytes_per_sm)
      : bench_(bench),
        part_(footprint_of_sm),
        bytes_per_sm_(bytes_per_sm),
        words_(random_words(bench.sm_count() * part_ / sizeof(std::uint32_t), bench.seed())),
        of_warp_(bench.sm_count() * std::size_t{kMostWarpsPerSm}) {}

  // Searched once for each benchmark.
  Shape fastest(const std::vector<Shape>& candidates) const {
    return candidates[bench_.remember<std::size_t>(bench_.record().id, [&] {
      return bench_.search(candidates.size(), [&](std::size_t i) { return launch(candidates[i]); },
                           kSearchSeconds, {.in_cycles = true, .tolerance = kEqualL1Shapes});
    })];
  }

  void measure_reads(const Shape& shape) const {
    bench_.note("footprint_bytes", static_cast<std::int64_t>(part_ * bench_.sm_count()));
    bench_.note("blocks_per_sm", std::int64_t{shape.blocks_per_sm});
    bench_.note("threads", std::int64_t{shape.threads});
    bench_.note("width", std::int64_t{shape.way.width});
    bench_.note("unroll", std::int64_t{shape.way.unroll});
    bench_.verify([&]() -> std::string {
      poison(of_warp_, bench_.stream());
      bench_.launch_once(launch(shape));
      const std::vector<std::uint32_t> sums = of_warp_.to_host();
      const std::size_t warps = std::size_t{blocks(shape)} * shape.threads / 32;
      const Accumulator<std::uint32_t> expected;
      kernels::reference_repeated_sum<<<kAnyBlocks, kAnyThreads>>>(
          words_.data(), words_.size(), part_of_block(shape) / sizeof(std::uint32_t),
          trips(shape) * shape.trip_bytes() / sizeof(std::uint32_t), expected.data());
      return std::reduce(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(warps)) ==
                     expected.get()
                 ? ""
                 : "the sum of the data read differs";
    });
    bench_.measure({.bytes_read = static_cast<double>(bytes_per_sm_) * bench_.sm_count()},
                   launch(shape));
  }

 private:
  static constexpr unsigned kMostWarpsPerSm = 64;

  unsigned blocks(const Shape& shape) const { return bench_.sm_count() * shape.blocks_per_sm; }
  std::size_t part_of_block(const Shape& shape) const { return part_ / shape.blocks_per_sm; }
  unsigned trips(const Shape& shape) const {
    return static_cast<unsigned>(bytes_per_sm_ / shape.blocks_per_sm / shape.trip_bytes());
  }
  CudaBench::Launch launch(const Shape& shape) const {
    return [this, shape](cudaStream_t stream) {
      const auto chunks = static_cast<unsigned>(part_of_block(shape) / shape.chunk_bytes());
      shape.way.launch(blocks(shape), shape.threads, stream,
                       {words_.data(), chunks, trips(shape), of_warp_.data()});
    };
  }

  CudaBench& bench_;
  std::size_t part_, bytes_per_sm_;
  DeviceBuffer<std::uint32_t> words_, of_warp_;
};

void l1_read(CudaBench& bench) {
  const Passes passes(bench, kL1Footprint, kL1BytesPerSm);
  passes.measure_reads(passes.fastest(shapes(l1_reads(), kL1Footprint)));
}

// A kernel over tiles of the L2, with `threads` a block and `unroll` accesses of a thread in
// flight.
struct L2Shape {
  const void* kernel;
  void (*launch)(unsigned blocks, unsigned threads, cudaStream_t stream, uint4* data,
                 unsigned tiles, std::uint32_t* of_warp);
  unsigned unroll, threads;

  // Of all SMs, as many blocks as fit.
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
  for (const unsigned threads : kL2Threads)
    all.insert(all.end(), {l2_write_shape<1>(threads), l2_write_shape<2>(threads),
                           l2_write_shape<4>(threads)});
  return all;
}

// Footprints of the L2 that all SMs go over together, one footprint after the other.
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
  // Those of the share of the L2 that the point names.
  static unsigned tiles_of(const CudaBench& bench) {
    const auto l2 = bench.device().l2_bytes;
    if (!l2) throw Skipped("the size of the L2 is not known");
    const double share = static_cast<double>(bench.integer("percent_of_l2")) / 100;
    const double tiles = static_cast<double>(*l2) * share / kL2TileBytes;
    return static_cast<unsigned>(std::max(std::lround(tiles), 1l));
  }

  // Searched once for each benchmark, on one footprint. Only shapes with less in flight than the
  // footprint: of blocks that share a tile, the later ones could read what is on its way already.
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
      return few[bench_.search(
          few.size(),
          [&](std::size_t i) {
            return launch(candidates[few[i]], data.data(), blocks_ / kSearchPart, of_warp.data());
          },
          kSearchSeconds)];
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
  // Moved over all footprints.
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
  unsigned tiles_;   // of a footprint
  unsigned blocks_;  // over one footprint
  L2Shape shape_;
};

void l2_read(CudaBench& bench) { L2Passes(bench, l2_reads()).measure_reads(); }
void l2_write(CudaBench& bench) { L2Passes(bench, l2_writes()).measure_writes(); }

// One of the sweep's two curves: its shape, and the footprints of each SM: the least, and then
// multiples of what the shape has in flight.
struct Sweep {
  const char* through;
  Shape shape;
  std::size_t least, to;
};
std::array<Sweep, 2> sweeps() {
  // An H200's L1 needs 16 KiB in flight, with 8 it gives 74 % of its rate: over less, several
  // warps read the same.
  // Past the L1, from 8 MiB of an H200's 60 MiB of L2 to 17 times that.
  return {{{"l1", {read_way<kernels::ThroughL1, uint2, 4>(), 512, 1}, 8 * kKiB, 512 * kKiB},
           {"l2", {read_way<kernels::ThroughL2, uint4, 8>(), 512, 1}, 64 * kKiB, 8 * kMiB}}};
}

void cache_sweep(CudaBench& bench) {
  const auto part = static_cast<std::size_t>(bench.integer("sm_bytes"));
  const std::string through = bench.text("through");
  for (const Sweep& sweep : sweeps()) {
    if (through != sweep.through) continue;
    prefer_l1(sweep.shape.way);
    Passes(bench, part, kSweepBytesPerSm).measure_reads(sweep.shape);
  }
}

std::vector<Point> share_points() {
  std::vector<Point> points;
  for (const std::int64_t share : kL2Shares) {
    const bool ceiling = share == kL2Shares.front();
    points.push_back({.params = {{"percent_of_l2", share}},
                      .rule = ceiling ? Rule::kFull : Rule::kCurve,
                      .seconds = ceiling ? 0.8 : 0.15});
  }
  return points;
}

std::vector<Point> sweep_points() {
  std::vector<Point> points;
  for (const Sweep& sweep : sweeps()) {
    const std::size_t granule = sweep.shape.trip_bytes();
    std::set<std::size_t> sizes = {sweep.least};
    const auto octaves = static_cast<int>(std::log2(sweep.to / granule));
    for (int i = 0; i <= octaves * kPointsPerOctave; ++i)
      sizes.insert(granule * static_cast<std::size_t>(std::lround(
                                 std::exp2(static_cast<double>(i) / kPointsPerOctave))));
    for (const std::size_t bytes : sizes)
      points.push_back({.params = {{"through", std::string(sweep.through)},
                                   {"sm_bytes", static_cast<std::int64_t>(bytes)}},
                        .seconds = 0.035});
  }
  return points;
}

}  // namespace

void register_cache(Registry& registry) {
  registry.add({.id = "l1.read",
                .what = "L1 read bandwidth: each SM goes over 32 KiB",
                .work = "bytes read by threads",
                .quantity = Quantity::kByteRate,
                .loads = Loads::kCores,
                .limit = on_chip_bandwidth(),
                .ceilings = {{.resource = resource("l1.read")}},
                .points = {{.params = {}, .rule = Rule::kFull, .seconds = 0.8}}},
               l1_read);
  const auto add_l2 = [&](const char* id, const char* what, const char* work,
                          void (*run)(CudaBench&)) {
    const auto counts = [](const Measurement& m, const DeviceFacts*) {
      return int_param(m.params, "percent_of_l2") == kL2Shares.front();
    };
    registry.add(
        {.id = id,
         .what = what,
         .work = work,
         .quantity = Quantity::kByteRate,
         .method_version = 3,  // 2: each SM had its own part, and an SM far from it held up all
         .limit = only_bound(on_chip_bandwidth(), "NVIDIA states no bandwidth of the L2"),
         .ceilings = {{.resource = resource(id), .counts = counts}},
         .points = share_points()},
        run);
  };
  add_l2("l2.read", "L2 read bandwidth, past the L1, by the share of the L2 that is read",
         "bytes read by threads", l2_read);
  add_l2("l2.write", "L2 write bandwidth, by the share of the L2 that is written",
         "bytes written by threads", l2_write);
  registry.add({.id = "cache.sweep",
                .what = "Read bandwidth by the footprint of each SM, through the L1 and past it",
                .work = "bytes read by threads",
                .quantity = Quantity::kByteRate,
                .limit = on_chip_bandwidth(),
                .curves = {cache_curve(kCaches)},
                .points = sweep_points()},
               cache_sweep);
}

}  // namespace peakline::bench

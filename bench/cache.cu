// How fast are the caches, and how much do they hold?

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "bench/catalog.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/core/curves.hpp"
#include "harness/core/limits.hpp"
#include "kernels/cache.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
// Of each SM's part of the footprint: the largest chunk for each of up to four blocks.
constexpr std::size_t kChunk = 4 * kKiB, kGranule = 4 * kChunk;
// Half of the smallest L1 there is.
constexpr std::size_t kL1Footprint = 32 * kKiB;
// Of the L2, in percent: that of the ceiling, which is hit however the L2 is divided, and those on
// both sides of it.
constexpr std::array<std::int64_t, 3> kL2Shares{20, 40, 60};
constexpr std::int64_t kL2CeilingShare = 40;
// What an SM moves in one launch, beside which its start and the first pass over the footprint are
// below 0.3 %: some 2 ms at 128 B per clock from the L1, some 1 ms from the L2.
constexpr std::size_t kL1BytesPerSm = 512 * kMiB, kL2BytesPerSm = 64 * kMiB;
// The sweep's: 0.5 ms from the L1, 4 ms from memory.
constexpr std::size_t kSweepBytesPerSm = 128 * kMiB;
// The sweep's footprints of each SM: beyond the L1; on an H200 up to 17 times the L2.
constexpr std::size_t kSweepFrom = 8 * kKiB, kL1SweepTo = 512 * kKiB, kL2SweepTo = 8 * kMiB;
constexpr int kPointsPerOctave = 4;
constexpr double kSearchSeconds = 0.3;
constexpr std::uint32_t kWritten = 0x9e3779b9u;

// What a launch goes over: each block `chunks` chunks of its own.
struct Job {
  void* data;
  unsigned chunks, trips;
  std::uint32_t* of_warp;  // of reads
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
template <int kUnroll>
Way write_way() {
  constexpr auto kKernel = kernels::cached_write<kUnroll>;
  return {reinterpret_cast<const void*>(kKernel), sizeof(uint4), kUnroll,
          [](dim3 blocks, dim3 threads, cudaStream_t stream, const Job& job) {
            kKernel<<<blocks, threads, 0, stream>>>(static_cast<uint4*>(job.data), job.chunks,
                                                    kWritten, job.trips);
          }};
}

template <class Cache>
std::vector<Way> wide_reads() {
  return {read_way<Cache, uint4, 2>(), read_way<Cache, uint4, 4>(), read_way<Cache, uint4, 8>()};
}
// The narrower ones are as fast only where nothing but the L1 is the limit.
template <class Cache>
void append_l1_reads(std::vector<Way>& all) {
  std::ranges::copy(wide_reads<Cache>(), std::back_inserter(all));
  all.push_back(read_way<Cache, std::uint32_t, 8>());
  all.push_back(read_way<Cache, std::uint32_t, 16>());
  all.push_back(read_way<Cache, std::uint32_t, 32>());
  all.push_back(read_way<Cache, uint2, 8>());
  all.push_back(read_way<Cache, uint2, 16>());
}
std::vector<Way> l1_reads() {
  std::vector<Way> all;
  append_l1_reads<kernels::ThroughL1>(all);
  append_l1_reads<kernels::ReadOnly>(all);
  append_l1_reads<kernels::StrongL1>(all);
  return all;
}

struct Shape {
  Way way;
  unsigned threads, blocks_per_sm;

  std::size_t chunk_bytes() const { return std::size_t{32} * way.width * way.unroll; }
  // That a block moves in one trip.
  std::size_t trip_bytes() const { return std::size_t{threads} * way.width * way.unroll; }
};

// Those with so many threads on an SM, in blocks of 512 or 1024.
std::vector<Shape> shapes(const std::vector<Way>& ways, std::initializer_list<unsigned> threads) {
  std::vector<Shape> all;
  for (const Way& way : ways) {
    PEAKLINE_CUDA(cudaFuncSetAttribute(way.kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                       cudaSharedmemCarveoutMaxL1));
    for (const unsigned on_sm : threads)
      for (const unsigned of_block : {512u, kernels::kMostCacheThreads}) {
        int fit = 0;
        PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, way.kernel,
                                                                    static_cast<int>(of_block), 0));
        if (of_block <= on_sm && on_sm / of_block <= static_cast<unsigned>(fit))
          all.push_back({way, of_block, on_sm / of_block});
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

  CudaBench::Launch launch(const Shape& shape) const { return launch(shape, trips(shape)); }
  // For once over the footprint, as few as it takes.
  CudaBench::Launch launch_once_over(const Shape& shape) const {
    const std::size_t part = part_of_block(shape);
    return launch(shape,
                  static_cast<unsigned>((part + shape.trip_bytes() - 1) / shape.trip_bytes()));
  }
  double bytes() const { return static_cast<double>(bytes_per_sm_) * bench_.sm_count(); }

  // Chooses the fastest, once for each name, and notes it.
  Shape fastest(const std::string& name, const std::vector<Shape>& candidates) const {
    const Shape shape = candidates[bench_.remember<std::size_t>(name, [&] {
      return bench_.search(
          candidates.size(), [&](std::size_t i) { return launch(candidates[i]); }, kSearchSeconds);
    })];
    bench_.note("blocks_per_sm", std::int64_t{shape.blocks_per_sm});
    bench_.note("threads", std::int64_t{shape.threads});
    bench_.note("width", std::int64_t{shape.way.width});
    bench_.note("unroll", std::int64_t{shape.way.unroll});
    return shape;
  }

  void measure_reads(const Shape& shape) const {
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
    bench_.measure({.bytes_read = bytes()}, launch(shape));
  }
  void measure_writes(const Shape& shape) const {
    bench_.verify([&] {
      poison(words_, bench_.stream());
      bench_.launch_once(launch_once_over(shape));
      return count_differences("pattern written", [&](unsigned long long* differences) {
        kernels::reference_pattern<<<kAnyBlocks, kAnyThreads>>>(words_.data(), kWritten,
                                                                words_.size(), differences);
      });
    });
    bench_.measure({.bytes_written = bytes()}, launch(shape));
  }

 private:
  static constexpr unsigned kMostWarpsPerSm = 64;

  unsigned blocks(const Shape& shape) const { return bench_.sm_count() * shape.blocks_per_sm; }
  std::size_t part_of_block(const Shape& shape) const { return part_ / shape.blocks_per_sm; }
  unsigned trips(const Shape& shape) const {
    return static_cast<unsigned>(bytes_per_sm_ / shape.blocks_per_sm / shape.trip_bytes());
  }
  CudaBench::Launch launch(const Shape& shape, unsigned trips) const {
    return [this, shape, trips](cudaStream_t stream) {
      const auto chunks = static_cast<unsigned>(part_of_block(shape) / shape.chunk_bytes());
      shape.way.launch(blocks(shape), shape.threads, stream,
                       {words_.data(), chunks, trips, of_warp_.data()});
    };
  }

  CudaBench& bench_;
  std::size_t part_, bytes_per_sm_;
  DeviceBuffer<std::uint32_t> words_, of_warp_;
};

void l1_read(CudaBench& bench) {
  const Passes passes(bench, kL1Footprint, kL1BytesPerSm);
  passes.measure_reads(passes.fastest("L1 read", shapes(l1_reads(), {1024, 2048})));
}

// Each SM's part of the share of the L2 that the point names.
std::size_t part_of_l2(const CudaBench& bench) {
  const auto l2 = bench.device().l2_bytes;
  if (!l2) throw Skipped("the size of the L2 is not known");
  const double share = static_cast<double>(bench.integer("percent_of_l2")) / 100;
  const auto part = static_cast<std::size_t>(*l2 * share / bench.sm_count());
  return std::max(part / kGranule, std::size_t{1}) * kGranule;
}

void l2_read(CudaBench& bench) {
  const Passes passes(bench, part_of_l2(bench), kL2BytesPerSm);
  passes.measure_reads(
      passes.fastest("L2 read", shapes(wide_reads<kernels::ThroughL2>(), {512, 1024, 2048})));
}

void l2_write(CudaBench& bench) {
  const Passes passes(bench, part_of_l2(bench), kL2BytesPerSm);
  passes.measure_writes(passes.fastest(
      "L2 write", shapes({write_way<1>(), write_way<2>(), write_way<4>()}, {512, 1024, 2048})));
}

void cache_sweep(CudaBench& bench) {
  const auto part = static_cast<std::size_t>(bench.integer("sm_bytes"));
  bench.fitting_memory(bench.sm_count() * part, bench.sm_count() * part);
  const Passes passes(bench, part, kSweepBytesPerSm);
  // One block an SM, so that the part can be of any size.
  const bool l1 = bench.text("through") == "l1";
  passes.measure_reads(passes.fastest(
      l1 ? "L1 sweep" : "L2 sweep",
      shapes(l1 ? wide_reads<kernels::ThroughL1>() : wide_reads<kernels::ThroughL2>(),
             {kernels::kMostCacheThreads})));
}

std::vector<Point> share_points(bool quick) {
  std::vector<Point> points;
  for (const std::int64_t share : kL2Shares) {
    const bool ceiling = share == kL2CeilingShare;
    points.push_back({.params = {{"percent_of_l2", share}},
                      .rule = ceiling ? Rule::kFull : Rule::kCurve,
                      .quick = quick && ceiling,
                      .seconds = ceiling ? 0.6 : 0.05});
  }
  return points;
}

void append_sweep(std::vector<Point>& points, const char* through, std::size_t to) {
  std::set<std::size_t> sizes;
  for (double bytes = kSweepFrom; bytes <= 1.01 * static_cast<double>(to);
       bytes *= std::exp2(1.0 / kPointsPerOctave))
    sizes.insert(static_cast<std::size_t>(std::lround(bytes / kChunk)) * kChunk);
  for (const std::size_t bytes : sizes)
    points.push_back({.params = {{"through", std::string(through)},
                                 {"sm_bytes", static_cast<std::int64_t>(bytes)}},
                      .seconds = 0.035});
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
  const auto add_l2 = [&](const char* id, const char* what, const char* work, bool quick,
                          void (*run)(CudaBench&)) {
    const auto counts = [](const Measurement& m, const DeviceFacts*) {
      return int_param(m.params, "percent_of_l2") == kL2CeilingShare;
    };
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .limit = no_limit("NVIDIA states no bandwidth of the L2"),
                  .ceilings = {{.resource = resource(id), .counts = counts}},
                  .points = share_points(quick)},
                 run);
  };
  add_l2("l2.read", "L2 read bandwidth, past the L1, by the share of the L2 that is read",
         "bytes read by threads", true, l2_read);
  add_l2("l2.write", "L2 write bandwidth, by the share of the L2 that is written",
         "bytes written by threads", false, l2_write);
  Benchmark sweep{.id = "cache.sweep",
                  .what = "Read bandwidth by the footprint of each SM, through the L1 and past it",
                  .work = "bytes read by threads",
                  .quantity = Quantity::kByteRate,
                  .limit = on_chip_bandwidth(),
                  .points = {}};
  append_sweep(sweep.points, "l1", kL1SweepTo);
  append_sweep(sweep.points, "l2", kL2SweepTo);
  registry.add(std::move(sweep), cache_sweep);
}

}  // namespace peakline::bench

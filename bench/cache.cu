#include <algorithm>
#include <numeric>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/cache.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
// Half of the smallest L1.
constexpr std::size_t kL1Footprint = 32 * kKiB;
// Bytes per SM: 2 ms on an H200 at 128 B per clock, so that launch and first pass cost below 0.3 %.
constexpr std::size_t kL1BytesPerSm = 512 * kMiB;
// Bytes per SM: 0.5 ms from the L1, 4 ms from memory.
constexpr std::size_t kSweepBytesPerSm = 128 * kMiB;
constexpr double kSearchSeconds = 0.3;

struct Job {
  const void* data;
  unsigned chunks, trips;
  std::uint32_t* of_warp;
};

// A kernel with accesses of `width` bytes, `unroll` of them in flight per thread.
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

// 4- and 8-byte accesses read the L1 slightly faster than 16-byte ones. Several shapes tie, and the
// first one wins, so it is the one with the lowest median on two H200s (2.124 to 2.127 ms in five
// runs of six; with 4 loads in flight 2.129 to 2.137).
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
  std::size_t trip_bytes() const { return std::size_t{threads} * way.width * way.unroll; }
};

void prefer_l1(const Way& way) {
  PEAKLINE_CUDA(cudaFuncSetAttribute(way.kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxL1));
}

// Shapes that fit on an SM and split its `part` bytes evenly among their warps.
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

// A footprint split evenly over the SMs, and the launches of any shape over it.
class Passes {
 public:
  Passes(CudaBench& bench, std::size_t footprint_of_sm, std::size_t bytes_per_sm)
      : bench_(bench),
        part_(footprint_of_sm),
        bytes_per_sm_(bytes_per_sm),
        words_(random_words(bench.sm_count() * part_ / sizeof(std::uint32_t), bench.seed())),
        of_warp_(bench.sm_count() * std::size_t{kMostWarpsPerSm}) {}

  Shape fastest(const std::vector<Shape>& candidates) const {
    return candidates[bench_.remember<std::size_t>(bench_.record().id, [&] {
      return bench_.search(
          candidates.size(), [&](std::size_t i) { return launch(candidates[i]); }, kSearchSeconds,
          cost_on_chip());
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

// One block per SM, with this many bytes in flight.
template <class Cache, class Vec, int kUnroll>
Shape sweep_shape(std::size_t bytes_in_flight) {
  const Way way = read_way<Cache, Vec, kUnroll>();
  return {way, static_cast<unsigned>(bytes_in_flight / (way.width * way.unroll)), 1};
}

}  // namespace

void l1_read(CudaBench& bench) {
  const Passes passes(bench, kL1Footprint, kL1BytesPerSm);
  passes.measure_reads(passes.fastest(shapes(l1_reads(), kL1Footprint)));
}

void cache_sweep(CudaBench& bench, std::size_t in_flight_of_l1, std::size_t in_flight_of_l2) {
  const Shape shape = bench.text("through") == "l1"
                          ? sweep_shape<kernels::ThroughL1, uint2, 4>(in_flight_of_l1)
                          : sweep_shape<kernels::ThroughL2, uint4, 8>(in_flight_of_l2);
  prefer_l1(shape.way);
  Passes(bench, static_cast<std::size_t>(bench.integer("sm_bytes")), kSweepBytesPerSm)
      .measure_reads(shape);
}

}  // namespace peakline::bench

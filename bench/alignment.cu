#include "bench/alignment.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/alignment.cuh"

namespace peakline::bench {
namespace {

using kernels::kAlignmentThreads;

constexpr std::size_t kMiB = std::size_t{1} << 20;
// Useful bytes at every offset and stride; many times any L2 even when contiguous.
constexpr std::size_t kUsefulBytes = 1024 * kMiB;
// A search reads less, so that every shape gets a turn on slow memory.
constexpr std::size_t kSearchUsefulBytes = 256 * kMiB;
// Granularity shows at strides of a sector or more, where even a fraction of this exceeds the L2.
constexpr std::size_t kGranularityUsefulBytes = 256 * kMiB;
constexpr double kUsefulL2s = 4;
constexpr std::size_t kMisaligned = kMostAlignmentOffset / 2;  // offset of the search
constexpr double kSearchSeconds = 0.1;
// Among shapes this close the first wins, for repeatability: of three equal ones on an H200, one
// loses 4.7 instead of 1.8 % with 16-byte accesses at offsets outside the search.
constexpr double kSearchTolerance = 0.01;

template <class Vec>
struct Shape {
  void (*kernel)(const Vec*, std::size_t, std::size_t, std::uint32_t*);
  int unroll;
  unsigned blocks_per_sm;
};
template <class Vec>
std::vector<Shape<Vec>> shapes() {
  constexpr int kFew = 64 / sizeof(Vec), kMany = 128 / sizeof(Vec);
  std::vector<Shape<Vec>> all;
  // Narrow accesses need more in flight.
  constexpr bool kNarrow = sizeof(Vec) == sizeof(std::uint32_t);
  constexpr int kFirst = kNarrow ? kMany : kFew, kSecond = kNarrow ? kFew : kMany;
  for (const unsigned blocks : {32u, 16u, 8u, 4u}) {
    all.push_back({kernels::strided_read<Vec, kFirst>, kFirst, blocks});
    all.push_back({kernels::strided_read<Vec, kSecond>, kSecond, blocks});
  }
  return all;
}

// A launch reads the vectors 0, stride, 2 x stride, ... after `offset` bytes.
struct Reads {
  std::size_t useful_bytes, offset = 0, stride = 1;
};

// Measures with the fastest shape for contiguous reads of this width, aligned and misaligned: some
// shapes that tie when aligned lose four times as much when misaligned.
template <class Vec>
void strided_read(CudaBench& bench, const Reads& reads) {
  const std::size_t count = reads.useful_bytes / sizeof(Vec);
  const std::size_t search_bytes =
      std::min(reads.useful_bytes, bench.beyond_l2(kSearchUsefulBytes, kUsefulL2s));
  const std::size_t span = reads.useful_bytes * reads.stride + kMostAlignmentOffset;
  const auto words =
      random_words(bench.fit_memory(span, span) / sizeof(std::uint32_t), bench.seed());
  const std::uint32_t* first = words.data() + reads.offset / sizeof(std::uint32_t);
  const std::uint32_t* misaligned_words = words.data() + kMisaligned / sizeof(std::uint32_t);
  const Accumulator<std::uint32_t> result;
  const auto candidates = shapes<Vec>();
  const auto launch = [&](const Shape<Vec>& shape, const std::uint32_t* from, std::size_t vectors,
                          std::size_t stride) {
    return [&, shape, from, vectors, stride](cudaStream_t stream) {
      shape.kernel<<<bench.sm_count() * shape.blocks_per_sm, kAlignmentThreads, 0, stream>>>(
          reinterpret_cast<const Vec*>(from), vectors, stride, result.data());
    };
  };
  const Shape<Vec>& shape =
      candidates[bench.remember<std::size_t>("strided read " + std::to_string(sizeof(Vec)), [&] {
        return bench.search(candidates.size(),
                            [&](std::size_t i) -> CudaBench::Launch {
                              const std::size_t vectors = search_bytes / sizeof(Vec);
                              const auto aligned = launch(candidates[i], words.data(), vectors, 1);
                              const auto misaligned =
                                  launch(candidates[i], misaligned_words, vectors, 1);
                              return {[=](cudaStream_t stream) {
                                        aligned(stream);
                                        misaligned(stream);
                                      },
                                      {.operations = 2}};
                            },
                            kSearchSeconds, {.tolerance = kSearchTolerance});
      })];
  const CudaBench::Launch measured = launch(shape, first, count, reads.stride);
  bench.verify([&]() -> std::string {
    result.reset();
    bench.launch_once(measured);
    const Accumulator<std::uint32_t> expected;
    kernels::reference_xor<<<kAnyBlocks, kAnyThreads>>>(
        first, count, sizeof(Vec) / sizeof(std::uint32_t), reads.stride, expected.data());
    return result.get() == expected.get() ? "" : "the XOR of the data read differs";
  });
  bench.note("blocks_per_sm", static_cast<std::int64_t>(shape.blocks_per_sm));
  bench.note("threads", static_cast<std::int64_t>(kAlignmentThreads));
  bench.note("unroll", std::int64_t{shape.unroll});
  bench.measure({.bytes_read = static_cast<double>(count * sizeof(Vec))}, measured);
}

void read_by_width(CudaBench& bench, const Reads& reads) {
  switch (bench.integer("width")) {
    case 4:
      return strided_read<std::uint32_t>(bench, reads);
    case 8:
      return strided_read<uint2>(bench, reads);
    default:
      return strided_read<uint4>(bench, reads);
  }
}

std::size_t parameter(const CudaBench& bench, std::string_view name) {
  return static_cast<std::size_t>(bench.integer(name));
}

// Sets this process's limit on L2 fetch granularity; the destructor restores it.
class FetchLimit {
 public:
  // Skips the point if the device rejects the limit.
  explicit FetchLimit(std::size_t bytes) {
    if (cudaDeviceGetLimit(&before_, cudaLimitMaxL2FetchGranularity) != cudaSuccess ||
        cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, bytes) != cudaSuccess) {
      cudaGetLastError();
      throw Skipped("the device's L2 fetch granularity cannot be limited");
    }
  }
  ~FetchLimit() { cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, before_); }
  FetchLimit(const FetchLimit&) = delete;
  FetchLimit& operator=(const FetchLimit&) = delete;

 private:
  std::size_t before_ = 0;
};

}  // namespace

void alignment_offset(CudaBench& bench) {
  read_by_width(bench, {.useful_bytes = kUsefulBytes, .offset = parameter(bench, "offset")});
}

void alignment_stride(CudaBench& bench) {
  read_by_width(bench, {.useful_bytes = kUsefulBytes, .stride = parameter(bench, "stride")});
}

void alignment_granularity(CudaBench& bench) {
  const FetchLimit limit(parameter(bench, "limit"));
  strided_read<std::uint32_t>(bench,
                              {.useful_bytes = bench.beyond_l2(kGranularityUsefulBytes, kUsefulL2s),
                               .stride = parameter(bench, "stride")});
}

}  // namespace peakline::bench

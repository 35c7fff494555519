// What do misaligned and strided reads cost?

#include "bench/catalog.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/core/curves.hpp"
#include "harness/core/limits.hpp"
#include "kernels/alignment.cuh"

namespace peakline::bench {
namespace {

using kernels::kAlignmentThreads;

constexpr std::size_t kSpanBytes = std::size_t{1} << 30;
constexpr int kUnroll = 4;
// A persistent grid: with one block per tile, the atomics at the end of each block would dominate.
constexpr unsigned kBlocksPerSm = 8;
constexpr std::int64_t kMaxOffset = 128;  // one cache line

// Reads every stride-th vector of the span, starting `offset` bytes into it.
template <class Vec>
void strided_read(CudaBench& bench, std::size_t offset, std::size_t stride) {
  const std::size_t span = bench.fit_memory(kSpanBytes, kMaxOffset);
  const auto words = random_words((span + kMaxOffset) / sizeof(std::uint32_t), bench.seed());
  const std::uint32_t* first = words.data() + offset / sizeof(std::uint32_t);
  const std::size_t count = span / sizeof(Vec) / stride;
  const Accumulator<std::uint32_t> result;
  const unsigned blocks = bench.sm_count() * kBlocksPerSm;
  const auto launch = [&](cudaStream_t stream) {
    kernels::strided_read<Vec, kUnroll><<<blocks, kAlignmentThreads, 0, stream>>>(
        reinterpret_cast<const Vec*>(first), count, stride, result.data());
  };
  bench.verify([&]() -> std::string {
    result.reset();
    bench.launch_once(launch);
    const Accumulator<std::uint32_t> expected;
    kernels::reference_xor<<<kAnyBlocks, kAnyThreads>>>(
        first, count, sizeof(Vec) / sizeof(std::uint32_t), stride, expected.data());
    return result.get() == expected.get() ? "" : "the XOR of the data read differs";
  });
  bench.note("blocks_per_sm", std::int64_t{kBlocksPerSm});
  bench.note("threads", static_cast<std::int64_t>(kAlignmentThreads));
  bench.note("unroll", std::int64_t{kUnroll});
  bench.measure({.bytes_read = static_cast<double>(count * sizeof(Vec))}, launch);
}

void read_by_width(CudaBench& bench, std::size_t offset, std::size_t stride) {
  switch (bench.integer("width")) {
    case 4:
      return strided_read<std::uint32_t>(bench, offset, stride);
    case 8:
      return strided_read<uint2>(bench, offset, stride);
    default:
      return strided_read<uint4>(bench, offset, stride);
  }
}

Point point(std::int64_t width, const char* name, std::int64_t value, bool quick) {
  return {.params = {{"width", width}, {name, value}},
          .phase = Phase::kDevice,
          .rule = Rule::kCurve,
          .quick = quick,
          .seconds = 0.05};
}

}  // namespace

void register_alignment(Registry& registry) {
  Benchmark offset{.id = "alignment.offset",
                   .what = "Bandwidth of contiguous reads, by offset from a line boundary",
                   .work = "useful bytes read",
                   .quantity = Quantity::kByteRate,
                   .limit = device_memory_bandwidth(),
                   .curves = {worst_share_curve("alignment", "offset", 0, " B", "aligned")},
                   .points = {}};
  Benchmark stride{.id = "alignment.stride",
                   .what = "Bandwidth of strided reads, by stride",
                   .work = "useful bytes read, not the sectors fetched for them",
                   .quantity = Quantity::kByteRate,
                   .limit = device_memory_bandwidth(),
                   .curves = {worst_share_curve("alignment", "stride", 1, "", "contiguous")},
                   .points = {}};
  for (const std::int64_t width : {4, 8, 16}) {
    for (std::int64_t bytes = 0; bytes <= kMaxOffset; bytes += width)
      offset.points.push_back(point(width, "offset", bytes, width == 4 && bytes <= 4));
    for (std::int64_t elements = 1; elements <= 64; elements *= 2)
      stride.points.push_back(
          point(width, "stride", elements, width == 4 && (elements == 1 || elements == 8)));
  }
  registry.add(std::move(offset), [](CudaBench& bench) {
    read_by_width(bench, static_cast<std::size_t>(bench.integer("offset")), 1);
  });
  registry.add(std::move(stride), [](CudaBench& bench) {
    read_by_width(bench, 0, static_cast<std::size_t>(bench.integer("stride")));
  });
}

}  // namespace peakline::bench

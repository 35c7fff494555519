// Each warp copies tiles into its own slots of shared memory and reads them there.

#include <cuda.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <ranges>
#include <utility>

#include "bench/copy_tiles.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/copy.cuh"

namespace peakline::bench {
namespace {

namespace copy = kernels::copy;
using cuda::DeviceBuffer;

constexpr std::size_t kMiB = std::size_t{1} << 20, kGiB = 1024 * kMiB;
// A launch takes about 0.4 ms, so that launch overhead is small.
constexpr std::size_t kCopiedBytes = 2 * kGiB;
// Shares of the L2: well inside it, and inside the partition near an SM.
constexpr double kInL2 = 0.4, kInNearL2 = 0.125;
constexpr double kSearchSeconds = 0.02;
constexpr int kMostWarpsOfSm = 2 * copy::kMostWarps;  // of any shape
// Steps of the verified walk, which follows a walk over every tile; prime.
constexpr std::uint64_t kVerifiedSteps = 1009;

using CopyTiles = void (*)(CUtensorMap, const std::byte*, unsigned, unsigned, std::uint32_t*);
using CopyWalk = void (*)(CUtensorMap, const std::byte*, std::uint32_t*, std::uint64_t,
                          ClockReading*);

struct Copy {
  int tile_bytes;
  int rank, least_major;
  int most_warps;                   // of a block
  int slot_bytes, walk_slot_bytes;  // shared memory of a warp
  CopyTiles tiles;
  CopyWalk walk;
  void (*fill_walk)(std::byte*, kernels::Cycle);
};

template <class Way>
Copy with_tiles() {
  return {.tile_bytes = Way::kBytes,
          .rank = Way::kRank,
          .least_major = Way::kLeastMajor,
          .most_warps = copy::most_warps<Way>(),
          .slot_bytes = copy::Slots<Way::kBytes, Way::kTilesUnderWay>::kBytesOfWarp,
          .walk_slot_bytes = copy::Slots<Way::kBytes, 1>::kBytesOfWarp,
          .tiles = copy::copy_tiles<Way>,
          .walk = copy::copy_walk<Way, ClockReading>,
          .fill_walk = copy::fill_walk<Way>};
}

template <std::size_t kIndex>
Copy nth_copy() {
  constexpr CopyTile kTile = kCopyTiles[kIndex];
  if constexpr (kTile.way == "plain")
    return with_tiles<copy::Plain<kTile.bytes>>();
  else if constexpr (kTile.way == "cp_async")
    return with_tiles<copy::CpAsync<kTile.bytes>>();
  else if constexpr (kTile.way == "bulk")
    return with_tiles<copy::Bulk<kTile.bytes>>();
  else if constexpr (kTile.way == "tensor_1d")
    return with_tiles<copy::Tensor1d<kTile.bytes>>();
  else {
    static_assert(kTile.way == "tensor_2d", "a way without code");
    return with_tiles<copy::Tensor2d<kTile.bytes>>();
  }
}

template <std::size_t... kIndex>
std::array<Copy, sizeof...(kIndex)> all_copies(std::index_sequence<kIndex...>) {
  return {nth_copy<kIndex>()...};
}

// The copies are in the order of kCopyTiles.
const auto& copies() {
  static const auto all = all_copies(std::make_index_sequence<kCopyTiles.size()>{});
  return all;
}

// Returns the point's copy; skips the point if the device lacks it.
const Copy& copy_of(const CudaBench& bench) {
  for (std::size_t i = 0; i < kCopyTiles.size(); ++i) {
    if (kCopyTiles[i].way != bench.text("way") || kCopyTiles[i].bytes != bench.integer("tile"))
      continue;
    const Copy& copy = copies()[i];
    if (bench.device().compute_major < copy.least_major)
      throw Skipped(copy.least_major == 8
                        ? "asynchronous copies to shared memory need compute capability 8.0"
                        : "bulk copies to shared memory need compute capability 9.0");
    return copy;
  }
  throw std::logic_error("no such way of copying");
}

// The tensor map of the copy; empty for copies without one. Skips the point if the driver has none.
CUtensorMap tensor_map(const Copy& copy, void* data, std::size_t bytes) {
  CUtensorMap map{};
  if (copy.rank == 0) return map;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned kSince = 12000;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, kSince, cudaEnableDefault,
                                       &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess)
    throw Skipped("the driver has no tensor maps");
  constexpr cuuint64_t kWide = sizeof(std::uint64_t), kNarrow = sizeof(std::uint32_t);
  const auto tile = static_cast<cuuint32_t>(copy.tile_bytes);
  std::array<cuuint64_t, 2> size{bytes / kWide, 0};
  std::array<cuuint32_t, 2> box{tile / static_cast<cuuint32_t>(kWide), 0};
  if (copy.rank == 2) {
    size = {copy::kRowBytes / kNarrow, bytes / copy::kRowBytes};
    box = {copy::kTileRowBytes / kNarrow, tile / copy::kTileRowBytes};
  }
  constexpr cuuint64_t kRow = copy::kRowBytes;
  constexpr std::array<cuuint32_t, 2> kEvery{1, 1};
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  const CUresult code =
      encode(&map, copy.rank == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT64 : CU_TENSOR_MAP_DATA_TYPE_UINT32,
             static_cast<cuuint32_t>(copy.rank), data, size.data(), &kRow, box.data(),
             kEvery.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(code));
  return map;
}

struct Shape {
  int blocks, warps;  // blocks per SM, warps per block
};

// Shapes that fit on an SM and have a tile for every warp. Few warps keep too little in flight;
// many wait for one another.
std::vector<Shape> shapes_of(const Copy& copy, const CudaBench& bench, unsigned tiles) {
  constexpr int kReserved = 1024;  // bytes of shared memory for each block
  const auto of_sm = static_cast<int>(bench.device().shared_per_sm_bytes.value_or(0));
  std::vector<Shape> shapes;
  for (const int blocks : {1, 2})
    for (const int warps : {copy.most_warps, copy.most_warps / 2, copy.most_warps / 4})
      if (warps > 0 && blocks * (warps * copy.slot_bytes + kReserved) <= of_sm &&
          bench.sm_count() * static_cast<unsigned>(blocks * warps) <= tiles)
        shapes.push_back({blocks, warps});
  if (shapes.empty()) throw Skipped("too little shared memory or L2 for tiles of this size");
  return shapes;
}

void copy_from(CudaBench& bench, std::size_t bytes) {
  const Copy& copy = copy_of(bench);
  const auto words = random_words(bytes / sizeof(std::uint32_t), bench.seed());
  const CUtensorMap map = tensor_map(copy, words.data(), bytes);
  const std::size_t tile_bytes = static_cast<std::size_t>(copy.tile_bytes);
  const auto tiles = static_cast<unsigned>(bytes / tile_bytes);
  const std::size_t passes = kCopiedBytes / bytes;
  const auto count = static_cast<unsigned>(tiles * passes);
  const std::vector<Shape> shapes = shapes_of(copy, bench, tiles);
  const auto shared_bytes = [&](const Shape& shape) { return shape.warps * copy.slot_bytes; };
  PEAKLINE_CUDA(
      cudaFuncSetAttribute(copy.tiles, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           std::ranges::max(shapes | std::views::transform(shared_bytes))));
  const DeviceBuffer<std::uint32_t> of_warp(std::size_t{bench.sm_count()} * kMostWarpsOfSm);
  const auto launch_of = [&](std::size_t i) -> CudaBench::Launch {
    const Shape shape = shapes[i];
    return [&, shape](cudaStream_t stream) {
      copy.tiles<<<bench.sm_count() * shape.blocks, 32 * shape.warps,
                   static_cast<std::size_t>(shared_bytes(shape)), stream>>>(
          map, reinterpret_cast<const std::byte*>(words.data()), tiles, count, of_warp.data());
    };
  };
  const std::size_t best = bench.search(shapes.size(), launch_of, kSearchSeconds);
  const Shape shape = shapes[best];
  const CudaBench::Launch launch = launch_of(best);
  bench.note("blocks_per_sm", static_cast<std::int64_t>(shape.blocks));
  bench.note("warps", static_cast<std::int64_t>(shape.warps));
  bench.verify([&]() -> std::string {
    poison(of_warp, bench.stream());
    bench.launch_once(launch);
    const std::size_t warps = std::size_t{bench.sm_count()} * shape.blocks * shape.warps;
    const std::vector<std::uint32_t> parts = of_warp.to_host();
    const auto sum = std::accumulate(parts.begin(), parts.begin() + warps, std::uint32_t{0});
    const Accumulator<std::uint32_t> expected;
    kernels::reference_repeated_sum<<<kAnyBlocks, kAnyThreads>>>(
        words.data(), words.size(), words.size(), words.size() * passes, expected.data());
    return sum == expected.get() ? "" : "the sum of the words copied differs";
  });
  bench.measure({.bytes_read = static_cast<double>(passes * bytes)}, launch);
}

// Bytes of a share of the L2, rounded down to whole rows of the largest 2D tiles, and so to whole
// tiles of any way.
std::size_t part_of_l2(const CudaBench& bench, double share) {
  constexpr std::size_t kWhole = copy::kRowBytes * 8192 / copy::kTileRowBytes;
  const auto part = static_cast<std::size_t>(share * bench.device().l2_bytes.value_or(0));
  if (part < kWhole) throw Skipped("the L2 is too small, or its size is not known");
  return part / kWhole * kWhole;
}

}  // namespace

void copy_hbm(CudaBench& bench) {
  copy_from(bench, bench.fitting_memory(kCopiedBytes, kCopiedBytes));
}

void copy_l2(CudaBench& bench) { copy_from(bench, part_of_l2(bench, kInL2)); }

void copy_latency(CudaBench& bench) {
  const Copy& copy = copy_of(bench);
  const DeviceBuffer<std::byte> data(part_of_l2(bench, kInNearL2));
  const CUtensorMap map = tensor_map(copy, data.data(), data.size());
  const kernels::Cycle order{.slots = data.size() / static_cast<std::size_t>(copy.tile_bytes),
                             .stride = 1};
  copy.fill_walk<<<kAnyBlocks, kAnyThreads>>>(data.data(), order);
  const DeviceBuffer<std::uint32_t> at(1);
  const DeviceBuffer<ClockReading> stamps(2);
  const auto launch_of = [&](std::uint64_t steps) -> CudaBench::Launch {
    return [&, steps](cudaStream_t stream) {
      copy.walk<<<1, 32, static_cast<std::size_t>(copy.walk_slot_bytes), stream>>>(
          map, data.data(), at.data(), steps, stamps.data());
    };
  };
  at.from_host(std::array{static_cast<std::uint32_t>(order.offset(0))});
  // Copies every tile once: the first copy of L2 lines that were just written is slower.
  bench.launch_once(launch_of(order.slots));
  bench.verify([&]() -> std::string {
    bench.launch_once(launch_of(kVerifiedSteps));
    return at.to_host()[0] == order.offset(kVerifiedSteps % order.slots)
               ? ""
               : "the walk ended at the wrong tile";
  });
  bench.measure_stamped(launch_of, stamps);
}

}  // namespace peakline::bench

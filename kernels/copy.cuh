#pragma once

// Ways of copying from global to shared memory. A warp copies tiles of kBytes into its own slots
// and reads each once. All lanes call start(), then seal() (also if nothing was left to start), and
// finish() for the oldest of kUnderWay tiles, which every lane can then read.

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "kernels/clock.cuh"
#include "kernels/latency.cuh"
#include "kernels/shared.cuh"

namespace peakline::kernels::copy {

inline constexpr int kMostWarps = 32;  // per block
// Bytes that a warp moves with 16 bytes per lane.
inline constexpr int kWarpBytes = 32 * sizeof(uint4);
// Most bytes in flight per SM, more than any device's memory needs.
inline constexpr int kBytesUnderWay = 128 * 1024;

// Tiles in flight per warp; more if they are small, since a warp waits for each of them.
constexpr int tiles_under_way(int tile_bytes) { return tile_bytes <= 512 ? 16 : 4; }

// Contiguous tiles, or those of a tensor map.
struct Source {
  const std::byte* data;
  const CUtensorMap* map;
};
// A slot and the barrier of its copies, as shared memory addresses.
struct Slot {
  std::uint32_t address, barrier;
};

__device__ inline unsigned lane() { return threadIdx.x % 32; }
// The shuffle tells the compiler that the value is uniform over the warp.
__device__ inline unsigned warp_of_block() { return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); }
// True for one lane of the warp, always the same.
__device__ inline bool elected() {
  unsigned is_elected = 0;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(is_elected));
  return is_elected != 0;
}

// Loads into registers and stores from there; past the L1, like the other ways.
template <int kTileBytes>
struct Plain {
  static constexpr int kBytes = kTileBytes, kTilesUnderWay = 1, kRank = 0, kLeastMajor = 0;
  uint4 v[kBytes / kWarpBytes];

  __device__ void start(const Source& source, unsigned tile, Slot) {
    const auto* from =
        reinterpret_cast<const uint4*>(source.data + std::size_t{tile} * kBytes) + lane();
#pragma unroll
    for (int i = 0; i < kBytes / kWarpBytes; ++i) v[i] = __ldcg(from + 32 * i);
  }
  __device__ void seal() {}
  template <int kUnderWay>
  __device__ void finish(Slot slot, unsigned) {
#pragma unroll
    for (int i = 0; i < kBytes / kWarpBytes; ++i)
      store_shared(slot.address + (32 * i + lane()) * sizeof(uint4), v[i]);
    __syncwarp();
  }
};

// cp.async: 16 bytes per lane and instruction.
template <int kTileBytes>
struct CpAsync {
  static constexpr int kBytes = kTileBytes, kTilesUnderWay = tiles_under_way(kBytes), kRank = 0,
                       kLeastMajor = 8;

  __device__ void start(const Source& source, unsigned tile, Slot slot) {
    const unsigned of_lane = lane() * sizeof(uint4);
    const std::byte* from = source.data + std::size_t{tile} * kBytes + of_lane;
#pragma unroll
    for (int i = 0; i < kBytes; i += kWarpBytes)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(slot.address + of_lane + i),
                   "l"(from + i)
                   : "memory");
  }
  __device__ void seal() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int kUnderWay>
  __device__ void finish(Slot, unsigned) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kUnderWay - 1) : "memory");
    __syncwarp();
  }
};

// One lane asks the SM's copy unit (TMA) for a whole tile; a barrier counts its bytes.
template <int kTileBytes>
struct OneLane {
  static constexpr int kBytes = kTileBytes, kTilesUnderWay = tiles_under_way(kBytes),
                       kLeastMajor = 9;

  __device__ void seal() {}
  template <int kUnderWay>
  __device__ void finish(Slot slot, unsigned parity) {
    unsigned done = 0;
    while (done == 0)
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(slot.barrier), "r"(parity)
          : "memory");
  }

 protected:
  static __device__ void expect(Slot slot) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(slot.barrier),
                 "r"(kBytes)
                 : "memory");
  }
};

// cp.async.bulk: contiguous bytes.
template <int kTileBytes>
struct Bulk : OneLane<kTileBytes> {
  static constexpr int kRank = 0;

  __device__ void start(const Source& source, unsigned tile, Slot slot) {
    if (!elected()) return;
    OneLane<kTileBytes>::expect(slot);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(slot.address),
        "l"(source.data + std::size_t{tile} * kTileBytes), "r"(kTileBytes), "r"(slot.barrier)
        : "memory");
  }
};

// cp.async.bulk.tensor of one dimension, elements of 8 bytes.
template <int kTileBytes>
struct Tensor1d : OneLane<kTileBytes> {
  static constexpr int kRank = 1;

  __device__ void start(const Source& source, unsigned tile, Slot slot) {
    if (!elected()) return;
    OneLane<kTileBytes>::expect(slot);
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2}], [%3];" ::"r"(slot.address),
        "l"(source.map), "r"(tile * (kTileBytes / 8)), "r"(slot.barrier)
        : "memory");
  }
};

// The matrix of 2D tiles: rows of 4-byte elements, tiles as wide as a cache line.
inline constexpr unsigned kRowBytes = 4096, kTileRowBytes = 128;
inline constexpr unsigned kTilesAcross = kRowBytes / kTileRowBytes;

// cp.async.bulk.tensor of two dimensions.
template <int kTileBytes>
struct Tensor2d : OneLane<kTileBytes> {
  static constexpr int kRank = 2;

  __device__ void start(const Source& source, unsigned tile, Slot slot) {
    if (!elected()) return;
    OneLane<kTileBytes>::expect(slot);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(slot.address),
        "l"(source.map), "r"(tile % kTilesAcross * (kTileRowBytes / 4)),
        "r"(tile / kTilesAcross * (kTileBytes / kTileRowBytes)), "r"(slot.barrier)
        : "memory");
  }
};

template <class Way>
__host__ __device__ constexpr std::size_t tile_offset(unsigned tile) {
  if constexpr (Way::kRank == 2)
    return std::size_t{tile / kTilesAcross} * (Way::kBytes / kTileRowBytes) * kRowBytes +
           tile % kTilesAcross * kTileRowBytes;
  else
    return std::size_t{tile} * Way::kBytes;
}

template <int kBytes, int kSlots>
class Slots {
 public:
  static constexpr unsigned kBytesOfWarp = kSlots * (kBytes + sizeof(std::uint64_t));

  __device__ explicit Slots(std::uint32_t block) {
    const unsigned warp = warp_of_block();
    first_.address = block + warp * kSlots * kBytes;
    first_.barrier =
        block + blockDim.x / 32 * kSlots * kBytes + warp * kSlots * sizeof(std::uint64_t);
  }
  __device__ Slot operator[](int slot) const {
    return {first_.address + slot * kBytes,
            first_.barrier + slot * static_cast<unsigned>(sizeof(std::uint64_t))};
  }
  // Each barrier expects one arrival, from the lane that starts the copy.
  __device__ void prepare_barriers() const {
    if (elected())
#pragma unroll 1
      for (int slot = 0; slot < kSlots; ++slot)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"((*this)[slot].barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::
                     : "memory");
    __syncwarp();
  }

 private:
  Slot first_;
};

template <class Way>
constexpr int most_warps() {
  constexpr int kWarps = kBytesUnderWay / (Way::kBytes * Way::kTilesUnderWay);
  return kWarps > kMostWarps ? kMostWarps : kWarps;
}

// Whether this code is compiled for an architecture that supports Way.
template <class Way>
__host__ __device__ constexpr bool available() {
#ifdef __CUDA_ARCH__
  return __CUDA_ARCH__ / 100 >= Way::kLeastMajor;
#else
  return true;
#endif
}

// Copies `count` tiles of Way::kBytes, cyclically the first `tiles` of the source: reads these
// bytes from global memory, writes them to shared memory and reads them there. of_warp: sum of the
// words that each warp read. `tiles` is at least the number of warps. Launch blocks of at most
// most_warps() warps, with Slots::kBytesOfWarp of dynamic shared memory for each.
template <class Way>
__global__ void __launch_bounds__(32 * most_warps<Way>())
    copy_tiles(const __grid_constant__ CUtensorMap map, const std::byte* __restrict__ data,
               unsigned tiles, unsigned count, std::uint32_t* __restrict__ of_warp) {
  if constexpr (available<Way>()) {
    extern __shared__ __align__(128) uint4 block[];
    constexpr int kSlots = Way::kTilesUnderWay;
    const Slots<Way::kBytes, kSlots> slots(shared_address(block));
    if constexpr (Way::kLeastMajor >= 9) slots.prepare_barriers();
    const Source source{data, &map};
    const unsigned warp = blockIdx.x * (blockDim.x / 32) + warp_of_block();
    const unsigned warps = gridDim.x * blockDim.x / 32;
    unsigned started = warp, next = warp;
    Way way;
    const auto start = [&](Slot slot) {
      if (started < count) way.start(source, next, slot);
      way.seal();
      started += warps;
      next += warps;
      if (next >= tiles) next -= tiles;
    };
#pragma unroll 1
    for (int slot = 0; slot < kSlots; ++slot) start(slots[slot]);
    std::uint32_t sum = 0;
    int slot = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (unsigned tile = warp; tile < count; tile += warps) {
      way.template finish<kSlots>(slots[slot], parity);
#pragma unroll
      for (unsigned at = 0; at < Way::kBytes; at += kWarpBytes)
        if (const unsigned mine = at + lane() * sizeof(uint4); mine < Way::kBytes)
          sum += sum_of(load_shared(slots[slot].address + mine));
      __syncwarp();
      start(slots[slot]);
      if (++slot == kSlots) {
        slot = 0;
        parity ^= 1;
      }
    }
    store_warp_sum(sum, of_warp);
  }
}

// Writes to the first word of each tile the number of the next tile in `order`. Any launch.
template <class Way>
__global__ void fill_walk(std::byte* data, Cycle order) {
  const unsigned threads = gridDim.x * blockDim.x;
  for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < order.slots; i += threads)
    *reinterpret_cast<std::uint32_t*>(data +
                                      tile_offset<Way>(static_cast<unsigned>(order.offset(i)))) =
        static_cast<std::uint32_t>(order.offset(i + 1 < order.slots ? i + 1 : 0));
}

// Copies `steps` tiles, each named by the first word of the previous one, from *at on, which
// becomes the number after the last. stamps: the clock right before and after. Reads Way::kBytes x
// steps bytes of global memory. Launch one warp with Slots::kBytesOfWarp of dynamic shared memory.
template <class Way, class Reading>
__global__ void copy_walk(const __grid_constant__ CUtensorMap map,
                          const std::byte* __restrict__ data, std::uint32_t* at,
                          std::uint64_t steps, Reading* stamps) {
  if constexpr (available<Way>()) {
    extern __shared__ __align__(128) uint4 block[];
    const Slots<Way::kBytes, 1> slots(shared_address(block));
    if constexpr (Way::kLeastMajor >= 9) slots.prepare_barriers();
    std::uint32_t tile = *at;
    Way way;
    if (lane() == 0) stamp(stamps[0]);
    __syncwarp();
    unsigned parity = 0;
#pragma unroll 1
    for (std::uint64_t step = 0; step < steps; ++step) {
      way.start({data, &map}, tile, slots[0]);
      way.seal();
      way.template finish<1>(slots[0], parity);
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(tile) : "r"(slots[0].address));
      __syncwarp();
      parity ^= 1;
    }
    // Never taken: makes the clock wait until the last number has arrived.
    if (tile == ~0u) __trap();
    if (lane() == 0) {
      stamp(stamps[1]);
      *at = tile;
    }
  }
}

}  // namespace peakline::kernels::copy

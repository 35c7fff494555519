#pragma once

// Chains of dependent loads: each returns the next address, so the time per load is the latency.

#include <cstddef>
#include <cstdint>

#include "kernels/clock.cuh"
#include "kernels/fill.cuh"

namespace peakline::kernels {

inline constexpr std::uint64_t kLineBytes = 128;

// Bits of the numbers below `count`.
constexpr int bits_below(std::uint64_t count) {
  int bits = 1;
  while ((count - 1) >> bits != 0) ++bits;
  return bits;
}

// A cyclic walk through every slot of a buffer. Any part of it can be computed anywhere.
struct Cycle {
  std::uint64_t slots;
  std::uint64_t stride;  // bytes from slot to slot
  bool random = true;    // else in address order
  // Lines among which a slot's own is drawn, if the buffer is too large to visit all of it.
  std::uint64_t lines = 1;
  int bits = bits_below(slots);

  std::uint64_t bytes() const { return slots * stride; }

  __host__ __device__ std::uint64_t offset(std::uint64_t position) const {
    const std::uint64_t slot = random ? permuted(position) : position;
    return slot * stride + (lines > 1 ? random_bits(0, slot) % lines * kLineBytes : 0);
  }

 private:
  // A pseudorandom order: multiplications by odd numbers, and shifts of the upper half onto the
  // lower, permute the numbers of this many bits; results outside are permuted again. Distances
  // without a pattern defeat stride and next-line prefetching.
  __host__ __device__ std::uint64_t permuted(std::uint64_t position) const {
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    do {
      for (const std::uint64_t odd :
           {0x9e3779b97f4a7c15ULL, 0xbf58476d1ce4e5b9ULL, 0x94d049bb133111ebULL}) {
        position = ((position + 1) * odd) & mask;
        position ^= position >> ((bits + 1) / 2);
      }
    } while (position >= slots);
    return position;
  }
};

// Each slot of the walk gets the next one's address. Writes 8 x cycle.slots bytes. Any launch.
static __global__ void fill_cycle(char* base, Cycle cycle) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < cycle.slots; i += threads)
    *reinterpret_cast<char**>(base + cycle.offset(i)) =
        base + cycle.offset(i + 1 < cycle.slots ? i + 1 : 0);
}

// One step; Pointer is what is loaded.
struct GlobalLoad {
  using Pointer = std::uint64_t;
  static __device__ Pointer next(Pointer p) {
    asm volatile("ld.global.u64 %0, [%0];" : "+l"(p));
    return p;
  }
};
struct L2Load {  // bypasses the L1
  using Pointer = std::uint64_t;
  static __device__ Pointer next(Pointer p) {
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p));
    return p;
  }
};
struct SharedLoad {
  using Pointer = std::uint32_t;
  static __device__ Pointer next(Pointer p) {
    asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p));
    return p;
  }
};

// Loads from the shared memory of another block of the cluster, by generic addresses; addresses of
// the cluster's window would first be converted.
struct ClusterLoad {
  using Pointer = std::uint64_t;
  static __device__ Pointer next(Pointer p) {
    asm volatile("ld.u64 %0, [%0];" : "+l"(p));
    return p;
  }
};

// Loads per branch; the loop's own instructions are issued while a load is in flight.
inline constexpr int kChaseUnroll = 32;

template <class Load>
__device__ typename Load::Pointer follow(typename Load::Pointer p, std::uint64_t loads) {
#pragma unroll 1
  for (std::uint64_t n = loads / kChaseUnroll; n > 0; --n) {
#pragma unroll
    for (int u = 0; u < kChaseUnroll; ++u) p = Load::next(p);
  }
#pragma unroll 1
  for (std::uint64_t n = loads % kChaseUnroll; n > 0; --n) p = Load::next(p);
  // Never taken: makes whatever follows wait until the last pointer has arrived.
  if (p == ~typename Load::Pointer{0}) __trap();
  return p;
}

template <class Load, class Reading>
__device__ typename Load::Pointer follow_stamped(typename Load::Pointer p, std::uint64_t warm_up,
                                                 std::uint64_t loads, Reading* stamps) {
  p = follow<Load>(p, warm_up);
  stamp(stamps[blockIdx.x]);
  p = follow<Load>(p, loads);
  stamp(stamps[gridDim.x + blockIdx.x]);
  return p;
}

// Each block follows the pointers from its element of `at`, `warm_up` steps and then `loads` that
// count, and stores the address reached. stamps: each block's clock right before the loads that
// count, then each right after. A block loads 8 x (warm_up + loads) bytes. Launch <<<any, 1>>>.
template <class Load, class Reading>
__global__ void chase(std::uint64_t* at, std::uint64_t warm_up, std::uint64_t loads,
                      Reading* stamps) {
  at[blockIdx.x] = follow_stamped<Load>(at[blockIdx.x], warm_up, loads, stamps);
}

// Walks through cycle.bytes() of shared memory: 4 x (warm_up + loads) bytes loaded. *at is the
// offset in bytes. Launch <<<1, any, cycle.bytes()>>>.
template <class Reading>
__global__ void chase_shared(std::uint64_t* at, std::uint64_t warm_up, std::uint64_t loads,
                             Reading* stamps, Cycle cycle) {
  extern __shared__ char walked[];
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(walked));
  for (std::uint64_t i = threadIdx.x; i < cycle.slots; i += blockDim.x)
    *reinterpret_cast<std::uint32_t*>(walked + cycle.offset(i)) =
        base + static_cast<std::uint32_t>(cycle.offset(i + 1 < cycle.slots ? i + 1 : 0));
  __syncthreads();
  if (threadIdx.x > 0) return;
  const auto start = base + static_cast<std::uint32_t>(*at);
  *at = follow_stamped<SharedLoad>(start, warm_up, loads, stamps) - base;
}

// Generic address of `shared` in the block of this rank of the cluster.
__device__ inline std::uint64_t in_block_of_cluster(const void* shared, unsigned rank) {
  std::uint64_t address = 0;
#if __CUDA_ARCH__ >= 900
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(shared), "r"(rank));
#endif
  return address;
}

// The first thread of each block walks through the shared memory of the cluster's next block, all
// at once: 8 x (warm_up + loads) bytes per block; `at` has one element per block. Launch whole
// clusters of `size` blocks, with cycle.bytes() of dynamic shared memory.
template <class Reading>
__global__ void chase_cluster(std::uint64_t* at, std::uint64_t warm_up, std::uint64_t loads,
                              Reading* stamps, Cycle cycle, unsigned size) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ char walked[];
  const unsigned rank = blockIdx.x % size;
  const std::uint64_t own = in_block_of_cluster(walked, rank);
  for (std::uint64_t i = threadIdx.x; i < cycle.slots; i += blockDim.x)
    *reinterpret_cast<std::uint64_t*>(walked + cycle.offset(i)) =
        own + cycle.offset(i + 1 < cycle.slots ? i + 1 : 0);
  const auto meet = [] {
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
  };
  meet();
  if (threadIdx.x == 0) {
    const std::uint64_t next = in_block_of_cluster(walked, (rank + 1) % size);
    at[blockIdx.x] =
        follow_stamped<ClusterLoad>(next + at[blockIdx.x], warm_up, loads, stamps) - next;
  }
  meet();  // shared memory lasts as long as its block
#endif
}

// Loads the last `count` slots of the walk into the L2, in order. Launch <<<1, 32>>>: one SM, as in
// a walk, so that lines get into the partition that its loads use.
inline constexpr int kTouchInFlight = 8;
static __global__ void touch_cycle(const char* base, Cycle cycle, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = threadIdx.x; i < count; i += kTouchInFlight * blockDim.x) {
    std::uint64_t p[kTouchInFlight];
#pragma unroll
    for (int u = 0; u < kTouchInFlight; ++u) {
      const std::uint64_t nth = i + u * blockDim.x;
      p[u] = reinterpret_cast<std::uint64_t>(
          base + cycle.offset(cycle.slots - (nth < count ? count - nth : 1)));
    }
#pragma unroll
    for (int u = 0; u < kTouchInFlight; ++u) p[u] = L2Load::next(p[u]);
#pragma unroll
    for (int u = 0; u < kTouchInFlight; ++u) sum ^= p[u];
  }
  if (sum == 1) __trap();  // no address: makes the loads count as used
}

}  // namespace peakline::kernels

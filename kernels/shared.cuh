#pragma once

// Reads and writes of shared memory. Each thread has kUnroll slots of 16 bytes, contiguous within a
// warp, so that the threads of a quarter warp use different banks. Accesses are volatile PTX: the
// compiler would otherwise read unchanged data only once.

#include <cstdint>

#include "kernels/cache.cuh"

namespace peakline::kernels {

inline constexpr unsigned kMostSharedThreads = 1024;

constexpr std::size_t slot_bytes(unsigned threads, int unroll) {
  return sizeof(uint4) * threads * static_cast<unsigned>(unroll);
}

__device__ inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

__device__ inline uint4 load_shared(std::uint32_t address) {
  uint4 v;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address));
  return v;
}

__device__ inline void store_shared(std::uint32_t address, uint4 v) {
  asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w));
}

// Slot u of a thread, in memory order.
__device__ inline unsigned slot(unsigned u) { return u * blockDim.x + threadIdx.x; }

// Reads 16 x threads x kUnroll x trips bytes of shared memory that hold the first slot_bytes() of
// `content`; of_warp: sum of the words that each warp read. Launch blocks of at most
// kMostSharedThreads threads, a multiple of 32, with slot_bytes() of dynamic shared memory.
template <int kUnroll>
__global__ void __launch_bounds__(kMostSharedThreads, 1)
    shared_read(const uint4* __restrict__ content, unsigned trips,
                std::uint32_t* __restrict__ of_warp) {
  extern __shared__ uint4 slots[];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) slots[slot(u)] = content[slot(u)];
  __syncthreads();
  std::uint32_t sum = 0;
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = load_shared(shared_address(slots + slot(u)));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sum += sum_of(v[u]);
  }
  store_warp_sum(sum, of_warp);
}

// What trip `trip` of shared_write() leaves in a slot.
__host__ __device__ inline uint4 shared_pattern(std::uint32_t value, unsigned trip, unsigned slot) {
  return {value + trip, value ^ slot, ~slot, slot};
}

// Writes 16 x threads x kUnroll x trips bytes of shared memory: shared_pattern() of the trip.
// of_warp: final sum of the words in each warp's slots. Launch as shared_read().
template <int kUnroll>
__global__ void __launch_bounds__(kMostSharedThreads, 1)
    shared_write(std::uint32_t value, unsigned trips, std::uint32_t* __restrict__ of_warp) {
  extern __shared__ uint4 slots[];
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      store_shared(shared_address(slots + slot(u)), shared_pattern(value, trip, slot(u)));
  }
  __syncthreads();
  std::uint32_t sum = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) sum += sum_of(slots[slot(u)]);
  store_warp_sum(sum, of_warp);
}

inline constexpr unsigned kBanks = 32;  // of 4 bytes
// Loads of a thread per trip, each from its own kBanks x kBanks words.
inline constexpr int kConflictUnroll = 4;
inline constexpr unsigned kConflictWords = kConflictUnroll * kBanks * kBanks;

// The word that a lane reads so that `ways` lanes (fewer in the last bank) meet in each bank.
__host__ __device__ constexpr unsigned conflicting_word(unsigned lane, unsigned ways) {
  return lane / ways + kBanks * (lane % ways);
}

// Reads 4 x threads x kConflictUnroll x trips bytes of shared memory that hold `content`, of
// kConflictWords words, with conflicts of 1 (none) to 32 ways. of_warp: sum of the words that each
// warp read. Blocks as in shared_read().
static __global__ void __launch_bounds__(kMostSharedThreads, 1)
    shared_conflicts(const std::uint32_t* __restrict__ content, unsigned ways, unsigned trips,
                     std::uint32_t* __restrict__ of_warp) {
  __shared__ std::uint32_t words[kConflictWords];
  for (unsigned i = threadIdx.x; i < kConflictWords; i += blockDim.x) words[i] = content[i];
  __syncthreads();
  const std::uint32_t address = shared_address(words + conflicting_word(threadIdx.x % 32, ways));
  std::uint32_t sum = 0;
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
    std::uint32_t v[kConflictUnroll];
#pragma unroll
    for (int u = 0; u < kConflictUnroll; ++u)
      asm volatile("ld.volatile.shared.u32 %0, [%1];"
                   : "=r"(v[u])
                   : "r"(address + u * kBanks * kBanks * 4));
#pragma unroll
    for (int u = 0; u < kConflictUnroll; ++u) sum += v[u];
  }
  store_warp_sum(sum, of_warp);
}

// Reads 16 x threads x kUnroll x trips bytes of the shared memory of the cluster's next block (its
// own in a cluster of one), which holds the first slot_bytes() of `content` with that block's rank
// added to the first word of each slot. of_warp: sum of the words that each warp read. Launch as
// shared_read(), in whole clusters of kCluster blocks.
template <int kCluster, int kUnroll>
__global__ void
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__cluster_dims__(kCluster)
#endif
    __launch_bounds__(kMostSharedThreads, 1)
        dsmem_read(const uint4* __restrict__ content, unsigned trips,
                   std::uint32_t* __restrict__ of_warp) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint4 slots[];
  const unsigned rank = blockIdx.x % kCluster;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    uint4 v = content[slot(u)];
    v.x += rank;
    slots[slot(u)] = v;
  }
  const auto meet = [] {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  };
  meet();
  std::uint32_t next;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(next)
               : "r"(shared_address(slots)), "r"((rank + 1) % kCluster));
  std::uint32_t sum = 0;
  // Each trip takes the slots in another order: volatile loads from a cluster would synchronize.
#pragma unroll 1
  for (unsigned trip = 0; trip < trips; ++trip) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[u].x), "=r"(v[u].y), "=r"(v[u].z), "=r"(v[u].w)
                   : "r"(next + slot((u + trip) % kUnroll) * 16));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sum += sum_of(v[u]);
  }
  store_warp_sum(sum, of_warp);
  meet();  // shared memory lasts as long as its block
#endif
}

}  // namespace peakline::kernels

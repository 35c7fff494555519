#pragma once

// Atomic operations in global and shared memory, on addresses shared by some, all or no threads.

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace peakline::kernels {

inline constexpr unsigned kAtomicThreads = 1024;  // per block

// Chooses each thread's element. An argument, or the compiler could merge operations of a warp.
struct AtomicTargets {
  std::uint32_t lane_stride, warp_stride;

  __host__ __device__ std::uint32_t of(std::uint32_t thread) const {
    return thread % 32 * lane_stride + thread / 32 * warp_stride;
  }
};

// run(): `trips` operations, which add `first` and `second` to *target in turn (swaps: only
// `first`, if they succeed); returns the number of successes.
namespace atomics {

inline constexpr int kUnroll = 8;

enum class Scope { kBlock, kDevice, kSystem };

template <class T, Scope kScope = Scope::kDevice>
struct Add {  // the old value is unused
  using Value = T;
  static constexpr bool kAlwaysSucceeds = true;
  static __device__ std::uint32_t run(T* target, T first, T second, int trips) {
#pragma unroll kUnroll
    for (int trip = 0; trip < trips; ++trip) {
      const T value = trip % 2 == 0 ? first : second;
      if constexpr (kScope == Scope::kBlock)
        atomicAdd_block(target, value);
      else if constexpr (kScope == Scope::kSystem)
        atomicAdd_system(target, value);
      else
        atomicAdd(target, value);
    }
    return static_cast<std::uint32_t>(trips);
  }
};

// Packed halves in global memory; atomicAdd would test the address space at run time.
struct AddHalvesInGlobal {
  using Value = __half2;
  static constexpr bool kAlwaysSucceeds = true;
  static __device__ std::uint32_t run(__half2* target, __half2 first, __half2 second, int trips) {
#pragma unroll kUnroll
    for (int trip = 0; trip < trips; ++trip) {
      std::uint32_t bits;
      memcpy(&bits, trip % 2 == 0 ? &first : &second, sizeof(bits));
      asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;"
                   :
                   : "l"(__cvta_generic_to_global(target)), "r"(bits)
                   : "memory");
    }
    return static_cast<std::uint32_t>(trips);
  }
};

struct CompareAndSwap {  // expects what the last one found
  using Value = unsigned;
  static constexpr bool kAlwaysSucceeds = false;
  static __device__ std::uint32_t run(unsigned* target, unsigned first, unsigned, int trips) {
    unsigned expected = 0;
    std::uint32_t swapped = 0;
#pragma unroll kUnroll
    for (int trip = 0; trip < trips; ++trip) {
      const unsigned found = atomicCAS(target, expected, expected + first);
      const bool success = found == expected;
      swapped += success ? 1 : 0;
      expected = success ? expected + first : found;
    }
    return swapped;
  }
};

}  // namespace atomics

// Each thread: `trips` operations on its element of data. succeeded[thread]: number of successes.
// Blocks of kAtomicThreads.
template <class Op>
__global__ void atomics_global(typename Op::Value* data, AtomicTargets targets,
                               typename Op::Value first, typename Op::Value second,
                               std::uint32_t* succeeded, int trips) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  succeeded[thread] = Op::run(data + targets.of(thread), first, second, trips);
}

// Works in shared memory, from 0, and then writes the block's elements to data, one per thread.
template <class Op>
__global__ void atomics_shared(typename Op::Value* data, AtomicTargets targets,
                               typename Op::Value first, typename Op::Value second,
                               std::uint32_t* succeeded, int trips) {
  using Value = typename Op::Value;
  __shared__ Value elements[kAtomicThreads];
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  elements[threadIdx.x] = Value{};
  __syncthreads();
  succeeded[thread] = Op::run(elements + targets.of(threadIdx.x), first, second, trips);
  __syncthreads();
  data[thread] = elements[threadIdx.x];
}

}  // namespace peakline::kernels

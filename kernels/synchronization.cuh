#pragma once

// Consecutive barriers, and kernels that the host or a later kernel waits for.

#include <cooperative_groups.h>

#include <cstdint>

#include "kernels/clock.cuh"

namespace peakline::kernels {

// meet(): a barrier. kUnroll: barriers per branch. publish(): what a thread does before a barrier
// so that others see what it wrote.
struct BlockBarrier {
  static constexpr int kUnroll = 16;
  static __device__ void publish() {}
  static __device__ void meet() { __syncthreads(); }
};
// Exists from compute capability 9.0 on. By default an arriving thread releases its writes.
struct ClusterBarrier {
  static constexpr int kUnroll = 16;
  static __device__ void publish() {}
  static __device__ void meet() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
  }
};
// A barrier without a fence, for threads that only wait for each other.
struct RelaxedClusterBarrier {
  static constexpr int kUnroll = 16;
  static __device__ void publish() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
#endif
  }
  static __device__ void meet() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::
                     : "memory");
#endif
  }
};
struct GridBarrier {  // of a cooperative launch
  static constexpr int kUnroll = 2;
  static __device__ void publish() {}
  static __device__ void meet() { cooperative_groups::this_grid().sync(); }
};

// The member of a group whose number a thread reads; in another block if there are several.
__host__ __device__ constexpr unsigned partner(unsigned thread, unsigned members) {
  const unsigned rank = thread % members;
  return thread - rank + (rank + members / 2 + 1) % members;
}

// The thread that is `meetings` partners away.
constexpr unsigned partner_after(unsigned thread, unsigned members, std::uint64_t meetings) {
  const std::uint64_t rank = thread % members;
  return thread / members * members +
         static_cast<unsigned>((rank + meetings * (members / 2 + 1)) % members);
}
static_assert(partner_after(70, 32, 3) == partner(partner(partner(70, 32), 32), 32));

// All threads meet `steps` times; thread t begins with the number t and adds 1 at each meeting.
// kExchange: before each meeting a thread leaves its number on the board, and then takes its
// partner's, which is there only if the barrier works. board: two numbers per thread, used in turn.
// stamps: the clock of each group's first thread right before, then of each right after. to: the
// final numbers.
template <class Barrier, bool kExchange, class Reading>
__global__ void __launch_bounds__(1024, 1)
    meetings(std::uint64_t steps, unsigned members, std::uint32_t* board, std::uint32_t* to,
             Reading* stamps) {
  const unsigned threads = gridDim.x * blockDim.x;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t number = thread;
  const auto step = [&](unsigned turn) {
    if constexpr (kExchange) {
      board[turn * threads + thread] = number;
      Barrier::publish();
    }
    Barrier::meet();
    if constexpr (kExchange) number = board[turn * threads + partner(thread, members)];
    ++number;
  };
  Barrier::meet();  // all of them have started
  const unsigned group = thread / members;
  if (thread % members == 0) stamp(stamps[group]);
  __syncwarp();
  std::uint64_t done = 0;
#pragma unroll 1
  for (; done + Barrier::kUnroll <= steps; done += Barrier::kUnroll) {
#pragma unroll
    for (int u = 0; u < Barrier::kUnroll; ++u) step(u % 2);
  }
#pragma unroll 1
  for (; done < steps; ++done) step(done % 2);
  if (thread % members == 0) stamp(stamps[threads / members + group]);
  to[thread] = number;
}

// *word = value, after this many nanoseconds. Launch <<<1, 1>>>.
static __global__ void signal_after(std::uint64_t nanoseconds, std::uint32_t* word,
                                    std::uint32_t value) {
  if (nanoseconds > 0) {
    const std::uint64_t start = global_timer_ns();
    while (global_timer_ns() - start < nanoseconds) {
    }
  }
  *word = value;
}

// *count += 1, once the previous kernel's writes are visible. If the launch allows it, the next
// kernel may start at once and waits at that point. Launch <<<1, 1>>>.
static __global__ void count_in_turn(std::uint32_t* count) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  *count += 1;
}

}  // namespace peakline::kernels

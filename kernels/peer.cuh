#pragma once

// Two GPUs that answer each other through flags, each in the memory of the GPU that waits.

#include <cstdint>

#include "kernels/clock.cuh"

namespace peakline::kernels {

__device__ inline void set_flag(std::uint32_t* flag, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

// Waits until the flag, which only grows, is `value` or more. Gives up after some seconds and ends
// the kernel with an error.
__device__ inline void wait_for_flag(const std::uint32_t* flag, std::uint32_t value) {
  constexpr std::uint64_t kMostPolls = std::uint64_t{1} << 25;  // of some hundred clocks each
  for (std::uint64_t polls = 0; polls < kMostPolls; ++polls) {
    std::uint32_t seen;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if (static_cast<std::int32_t>(seen - value) >= 0) return;
  }
  __trap();
}

// `rounds` times: sets the other GPU's flag to the next number after `from` and waits for the
// answer in its own. Each round writes 4 bytes each way; stamps: the clock before the first and
// after the last round. Launch <<<1, 1>>> while pong() runs on the other GPU.
template <class Reading>
__global__ void ping(std::uint32_t* own, std::uint32_t* others, std::uint32_t from,
                     std::uint32_t rounds, Reading* stamps) {
  // An untimed round, after which both kernels run.
  set_flag(others, ++from);
  wait_for_flag(own, from);
  stamp(stamps[0]);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    set_flag(others, ++from);
    wait_for_flag(own, from);
  }
  stamp(stamps[1]);
}

// The other side of ping(), with the same `from` and `rounds`. Launch <<<1, 1>>>.
static __global__ void pong(std::uint32_t* own, std::uint32_t* others, std::uint32_t from,
                            std::uint32_t rounds) {
  for (std::uint32_t i = 0; i <= rounds; ++i) {
    wait_for_flag(own, ++from);
    set_flag(others, from);
  }
}

}  // namespace peakline::kernels

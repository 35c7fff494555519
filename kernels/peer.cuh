#pragma once

// Two GPUs that answer each other through flags, each in the memory of the one that waits for it.

#include <cstdint>

#include "kernels/clock.cuh"

namespace peakline::kernels {

__device__ inline void set_flag(std::uint32_t* flag, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

// Waits until the flag is `value`. Gives up after some seconds, which ends the kernel with an
// error: the other GPU is not there.
__device__ inline void wait_for_flag(const std::uint32_t* flag, std::uint32_t value) {
  constexpr std::uint64_t kMostPolls = std::uint64_t{1} << 25;  // of some hundred clocks each
  for (std::uint64_t polls = 0; polls < kMostPolls; ++polls) {
    std::uint32_t seen;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if (seen == value) return;
  }
  __trap();
}

// `rounds` times: sets the other's flag to the next number after `from` and waits for the answer in
// its own. Writes 4 bytes to the other GPU a round, and the other one 4 bytes here; stamps: the
// clock before the first and after the last. Launch <<<1, 1>>> while pong() runs on the other.
template <class Reading>
__global__ void ping(std::uint32_t* own, std::uint32_t* others, std::uint32_t from,
                     std::uint32_t rounds, Reading* stamps) {
  // Once untimed: from then on both run.
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

#pragma once

// SM cycle counters at known moments of the global timer.

#include <cstdint>

namespace peakline::kernels {

__device__ inline std::uint64_t global_timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ inline std::uint64_t sm_cycles() { return static_cast<std::uint64_t>(clock64()); }

// The cycle counter when the timer ticked over to `nanoseconds`, within `spread` cycles. Ticks are
// 32 ns to 1 us apart.
struct ClockTick {
  std::uint64_t cycles, nanoseconds;
  std::uint32_t spread;
};
__device__ inline ClockTick wait_for_tick() {
  std::uint64_t before = sm_cycles();
  const std::uint64_t last = global_timer_ns();
  while (true) {
    const std::uint64_t between = sm_cycles();
    const std::uint64_t now = global_timer_ns();
    const std::uint64_t spread = sm_cycles() - before;
    if (now != last) return {before + spread / 2, now, static_cast<std::uint32_t>(spread)};
    before = between;
  }
}

// Two undisturbed reads of each counter take 42 cycles on an H200; more means an interruption.
inline constexpr std::uint32_t kTightSpread = 64;
inline constexpr int kClockTries = 8;

__device__ inline ClockTick read_clock() {
  ClockTick best = wait_for_tick();
  for (int tries = 1; tries < kClockTries && best.spread > kTightSpread; ++tries) {
    const ClockTick tick = wait_for_tick();
    if (tick.spread < best.spread) best = tick;
  }
  return best;
}

// Records where and when it runs, with the SM's cycle counter.
template <class Reading>
__device__ void stamp(Reading& reading) {
  const ClockTick tick = read_clock();
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  reading = {
      .cycles = tick.cycles, .nanoseconds = tick.nanoseconds, .spread = tick.spread, .sm = sm};
}

// One Reading per block. Launch <<<SMs, 1>>> on an idle device: a block on each SM. Bytes and FLOPs
// are negligible.
template <class Reading>
__global__ void read_clocks(Reading* readings) {
  stamp(readings[blockIdx.x]);
}

}  // namespace peakline::kernels

#pragma once

// The actual clock of an SM: its cycle counter over the global timer.

#include <cstdint>

namespace peakline::kernels {

__device__ inline std::uint64_t global_timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Both counters at (nearly) the same moment, read when the global timer ticks, since it stands
// still between ticks, which are up to 1 us apart.
struct ClockReading {
  std::uint64_t cycles, nanoseconds;
};
__device__ inline ClockReading read_clocks_at_tick() {
  const std::uint64_t before = global_timer_ns();
  std::uint64_t now;
  do {
    now = global_timer_ns();
  } while (now == before);
  return {static_cast<std::uint64_t>(clock64()), now};
}

// For kernels that last much longer than a tick: does not wait for one, which would prolong the
// timed work.
__device__ inline ClockReading read_clocks() {
  return {static_cast<std::uint64_t>(clock64()), global_timer_ns()};
}

// Cycles and nanoseconds since `start`, written by one thread of the grid.
__device__ inline void put_clock_stamp(const ClockReading& start, std::uint64_t* cycles,
                                       std::uint64_t* nanoseconds) {
  const ClockReading stop = read_clocks();
  *cycles = stop.cycles - start.cycles;
  *nanoseconds = stop.nanoseconds - start.nanoseconds;
}

// One thread spins for `spin_ns`. Launch <<<1, 1>>>. Bytes and FLOPs are negligible.
static __global__ void clock_probe(std::uint64_t* cycles, std::uint64_t* nanoseconds,
                                   std::uint64_t spin_ns) {
  const ClockReading start = read_clocks_at_tick();
  while (global_timer_ns() - start.nanoseconds < spin_ns) {
  }
  const ClockReading stop = read_clocks_at_tick();
  *cycles = stop.cycles - start.cycles;
  *nanoseconds = stop.nanoseconds - start.nanoseconds;
}

}  // namespace peakline::kernels

#include <chrono>
#include <thread>

#include "harness/benchmark/cuda_bench.hpp"

namespace peakline::bench {

// The board cools and its clocks fall while nothing runs: an H100 at 131 W is still warm.
void energy_idle(CudaBench& bench) {
  constexpr double kRestSeconds = 10;
  constexpr std::chrono::milliseconds kWait{50};
  bench.sampler().synchronize();
  bench.sampler().rest(kRestSeconds);
  bench.verify([] { return ""; });  // nothing is computed
  bench.measure_calls({}, [&] { std::this_thread::sleep_for(kWait); });
}

}  // namespace peakline::bench

#pragma once

#include "harness/benchmark/bench.hpp"
#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// Benchmarks of this executable as a worker; some end the worker.
void worker_catalog(Registry& registry, const CatalogInput& input);

// Rough medians suffice.
inline const RunOptions kWorkerOptions{.max_noise = 0.5};

// If this environment variable is set, workers end as soon as they have started.
inline constexpr const char* kNoWorker = "PEAKLINE_TEST_NO_WORKER";

// Set to a made-up GPU's UUID, a worker reports that GPU and then hangs.
inline constexpr const char* kHangingGpu = "PEAKLINE_TEST_HANGING_GPU";
[[noreturn]] void hang_as_gpu();

}  // namespace peakline::bench

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

// Set to a made-up GPU's UUID and values, a worker reports that GPU, answers each point with the
// next value, and then hangs.
inline constexpr const char* kMadeUpGpu = "PEAKLINE_TEST_MADE_UP_GPU";
[[noreturn]] void act_as_gpu();

}  // namespace peakline::bench

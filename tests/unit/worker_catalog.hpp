#pragma once

#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// This executable measures these when it is started as a worker: benchmarks that end the worker.
void worker_catalog(Registry& registry, const CatalogInput& input);

// Where this environment variable is set, a worker ends as soon as it has started.
inline constexpr const char* kNoWorker = "PEAKLINE_TEST_NO_WORKER";

// Where this one is set, to the UUID of a GPU that is made up, a worker says that it has that and
// then answers nothing, as one whose GPU hangs.
inline constexpr const char* kHangingGpu = "PEAKLINE_TEST_HANGING_GPU";
[[noreturn]] void hang_as_gpu();

}  // namespace peakline::bench

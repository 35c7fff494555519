// Runs the unit tests, or a worker: some tests start this executable as a WorkerProcess.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "harness/run/worker.hpp"
#include "harness/run/worker_process.hpp"
#include "tests/unit/worker_catalog.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    if (std::getenv(peakline::bench::kNoWorker) != nullptr) return EXIT_FAILURE;
    if (std::getenv(peakline::bench::kMadeUpGpu) != nullptr) peakline::bench::act_as_gpu();
    return peakline::bench::run_worker(
        argv[2], peakline::bench::kWorkerOptions, peakline::bench::worker_catalog,
        peakline::bench::kWorkerInput, peakline::bench::kWorkerOutput);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

#include "harness/run/coordinator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "harness/benchmark/host_bench.hpp"
#include "harness/core/limits.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/worker.hpp"
#include "tests/unit/worker_catalog.hpp"

namespace peakline::bench {

void worker_catalog(Registry& registry, int /*threads*/, double /*soak_s*/) {
  const auto add = [&](const char* id, void (*run)(HostBench&)) {
    registry.add({.id = id,
                  .what = "",
                  .work = "",
                  .limit = no_limit("a test"),
                  .points = {{.params = {}, .phase = Phase::kHost, .quick = true, .seconds = 1}}},
                 std::function<void(HostBench&)>(run));
  };
  add("worker.first", [](HostBench&) { throw Skipped("nothing to do"); });
  // As if an exception escaped.
  add("worker.exception", [](HostBench&) {
    std::puts("trying exception");
    std::fflush(stdout);
    std::_Exit(kExitPartial);
  });
  add("worker.second", [](HostBench&) { throw Skipped("nothing to do"); });
  // As if the device had been lost at the point before this one.
  add("worker.lost", [](HostBench&) {
    std::puts("trying lost");
    std::fflush(stdout);
    std::_Exit(kWorkerDeviceLost);
  });
  add("worker.third", [](HostBench&) { throw Skipped("nothing to do"); });
}

namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

struct Outcome {
  RunResult result;
  std::vector<std::pair<Status, std::string>> records;
  std::string log;
};

Outcome run_worker_catalog() {
  Registry registry;
  worker_catalog(registry, 1, 0);
  const Plan plan = make_plan(registry, {}, true, "");
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / "coordinator_test.json";
  const RunSettings settings{.options = {},
                             .output = file,
                             .time_limit_s = {},
                             .anonymize = false,
                             .benchmarks = registry.benchmarks()};
  Outcome outcome;
  testing::internal::CaptureStderr();
  {
    const Interrupt interrupt;
    Progress progress(Verbosity::kVerbose, false);
    outcome.result = run_plan(plan, settings, Profile{}, nullptr, interrupt, progress);
  }
  outcome.log = testing::internal::GetCapturedStderr();
  std::filesystem::remove(file);
  for (const Measurement& m : outcome.result.profile.measurements)
    outcome.records.emplace_back(m.status, m.reason);
  return outcome;
}

TEST(Coordinator, ARetryIsOnlyForADeviceLostBefore) {
  const Outcome outcome = run_worker_catalog();
  EXPECT_THAT(outcome.records,
              ElementsAre(Pair(Status::kSkipped, "nothing to do"),
                          Pair(Status::kError, "the worker exited with code 3: trying exception"),
                          Pair(Status::kSkipped, "nothing to do"),
                          Pair(Status::kError, "the worker exited with code 113: trying lost"),
                          Pair(Status::kSkipped, "nothing to do")));
  EXPECT_EQ(count_of(outcome.log, "host: trying exception"), 1);
  // Once by the worker that had answered other points, once by a new one.
  EXPECT_EQ(count_of(outcome.log, "host: trying lost"), 2);
  EXPECT_FALSE(outcome.result.profile.complete);
}

TEST(Coordinator, WorkersThatNeverStartAreNotTriedForEachPoint) {
  ::setenv(kNoWorker, "1", 1);
  const Outcome outcome = run_worker_catalog();
  ::unsetenv(kNoWorker);
  const std::string reason = "the worker cannot be started: the worker exited with code 1";
  EXPECT_EQ(outcome.records.size(), 5);
  EXPECT_THAT(outcome.records, Each(Pair(Status::kError, reason)));
  EXPECT_EQ(count_of(outcome.log, reason), 1);
  EXPECT_FALSE(outcome.result.profile.complete);
}

}  // namespace
}  // namespace peakline::bench

#include "harness/run/coordinator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

#include "bench/pairs.hpp"
#include "harness/benchmark/host_bench.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/exit_codes.hpp"
#include "harness/run/worker.hpp"
#include "harness/run/worker_process.hpp"
#include "harness/statistics/statistics.hpp"
#include "tests/unit/worker_catalog.hpp"

namespace peakline::bench {
namespace {

void spin() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
  while (std::chrono::steady_clock::now() < end) {
  }
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace

void worker_catalog(Registry& registry, const CatalogInput&) {
  const auto add = [&](const char* id, void (*run)(HostBench&), bool never_run = false) {
    registry.add({.id = id,
                  .what = "",
                  .work = "",
                  .limit = no_limit("a test"),
                  .never_run = never_run,
                  .points = {{.phase = Phase::kHost, .quick = !never_run, .seconds = 1}}},
                 std::function<void(HostBench&)>(run));
  };
  const auto skipped = [](HostBench&) { throw Skipped("nothing to do"); };
  add("worker.first", skipped);
  // Ends as if an exception escaped.
  add("worker.exception", [](HostBench&) {
    say("trying exception");
    std::_Exit(kExitPartial);
  });
  add("worker.second", skipped);
  // Ends as if the device had been lost at the point before.
  add("worker.lost", [](HostBench&) {
    say("trying lost");
    std::_Exit(kWorkerDeviceLost);
  });
  add("worker.third", skipped);

  // Code that was never run may end the worker or be wrong.
  add(
      "new.wrong", [](HostBench& bench) { bench.verify([] { return "all zeros"; }); }, true);
  add(
      "new.ends",
      [](HostBench&) {
        say("trying new");
        std::_Exit(kExitPartial);
      },
      true);
  add("new.skipped", skipped, true);

  // Two points behind one ceiling, one of them 500 times faster, and one behind none.
  const auto add_share = [&](const char* id, std::vector<CeilingRule> ceilings) {
    std::vector<Point> points;
    for (const std::int64_t bytes : {2000, 1000000}) {
      points.push_back({.params = {{"bytes", bytes}},
                        .phase = Phase::kHost,
                        .timing = Timing::kFull,
                        .quick = true,
                        .seconds = 1});
    }
    registry.add({.id = id,
                  .what = "",
                  .work = "",
                  .quantity = Quantity::kByteRate,
                  .limit = no_limit("a test"),
                  .ceilings = std::move(ceilings),
                  .points = std::move(points)},
                 std::function<void(HostBench&)>([](HostBench& bench) {
                   say("visiting " + bench.record().name());
                   bench.measure(
                       {.bytes_read = static_cast<double>(bench.integer("bytes"))},
                       [](int) { spin(); }, 1);
                 }));
  };
  add_share("sittings.ceiling", {{.resource = resource("memory.read")}});
  add_share("sittings.curve", {});

  // A GPU's point, answered by act_as_gpu().
  registry.add({.id = "gpu.point",
                .what = "",
                .work = "",
                .quantity = Quantity::kOpRate,
                .limit = per_clock_per_sm(1),
                .points = {{.phase = Phase::kDevice, .seconds = 0.1}}},
               std::function<void(CudaBench&)>());

  // Pairs of four GPUs; the last GPU ends every process that uses it.
  registry.add({.id = "node.pair",
                .what = "",
                .work = "",
                .limit = no_limit("a test"),
                .points = pair_points({0, 1, 2, 3}, false, {.phase = Phase::kNode, .seconds = 1})},
               std::function<void(HostBench&)>([](HostBench& bench) {
                 const std::string pair = bench.text("pair");
                 say("trying " + pair);
                 if (pair.ends_with('3')) std::_Exit(kExitPartial);
                 throw Skipped("nothing to do");
               }));
}

void act_as_gpu() {
  std::istringstream settings(std::getenv(kMadeUpGpu));
  DeviceFacts facts;
  settings >> facts.uuid;
  const auto answer = [](const std::string& line) {
    if (::write(kWorkerOutput, (line + "\n").data(), line.size() + 1) < 0) std::_Exit(EXIT_FAILURE);
  };
  answer(to_json_line(facts));
  for (;;) {
    for (char c = 0; c != '\n';)
      if (::read(kWorkerInput, &c, 1) != 1) std::_Exit(EXIT_SUCCESS);
    double value = 0;
    while (!(settings >> value)) ::pause();
    Measurement m{.id = "gpu.point", .device = facts.uuid, .duration_s = 1};
    m.value = value;
    m.unit = unit_of(Quantity::kOpRate);
    m.summary = summarize(std::vector(5, 1.0));
    answer(to_json_line(m));
  }
}

namespace {

using ::testing::_;
using ::testing::Contains;
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

Outcome run_worker_catalog(const std::string& filter = "^worker", std::size_t runs = 1,
                           const std::vector<DeviceFacts>& devices = {}, bool if_idle = false) {
  Registry registry;
  worker_catalog(registry, {});
  std::vector<std::string> uuids;
  for (const DeviceFacts& device : devices) uuids.push_back(device.uuid);
  const Plan plan = make_plan(registry, uuids, false, filter);
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / "coordinator_test.json";
  const RunSettings settings{.options = kWorkerOptions,
                             .output = file,
                             .runs = runs,
                             .if_idle = if_idle,
                             .anonymize = false,
                             .benchmarks = registry.benchmarks()};
  Profile start;
  start.created = "2026-01-31T12:00:00Z";
  start.mode = "full";
  start.devices = devices;
  Outcome outcome;
  testing::internal::CaptureStderr();
  {
    const Interrupt interrupt;
    Progress progress(Verbosity::kVerbose, false);
    outcome.result = run_plan(plan, settings, start, nullptr, interrupt, progress);
  }
  outcome.log = testing::internal::GetCapturedStderr();
  std::filesystem::remove(file);
  for (const Measurement& m : outcome.result.profile.measurements)
    outcome.records.emplace_back(m.status, m.reason);
  return outcome;
}

TEST(Coordinator, ARetryIsOnlyForADeviceLostBefore) {
  const auto skipped = Pair(Status::kSkipped, "nothing to do");
  const auto exception = Pair(Status::kError, "the worker exited with code 3: trying exception");
  const Outcome outcome = run_worker_catalog();
  EXPECT_THAT(
      outcome.records,
      ElementsAre(skipped, exception, skipped,
                  Pair(Status::kError, "the worker exited with code 113: trying lost"), skipped));
  EXPECT_EQ(count_of(outcome.log, "host: trying exception"), 1);
  // Tried by the worker that had answered other points, then by a new one.
  EXPECT_EQ(count_of(outcome.log, "host: trying lost"), 2);
  EXPECT_FALSE(outcome.result.profile.complete);
  // A failure in one run is one of the profile.
  const Outcome twice = run_worker_catalog("worker[.](first|exception)", 2);
  EXPECT_THAT(twice.records, ElementsAre(skipped, exception));
  EXPECT_EQ(count_of(twice.log, "host: trying exception"), 2u);
  EXPECT_FALSE(twice.result.profile.complete);
}

// A healthy device must not be rejected for code that was never run.
TEST(Coordinator, WhatWasNeverRunAndFailsIsSkipped) {
  const Outcome outcome = run_worker_catalog("^new");
  EXPECT_THAT(outcome.records, ElementsAre(Pair(Status::kSkipped,
                                                "never run on hardware before, and here it failed: "
                                                "wrong result: all zeros"),
                                           Pair(Status::kSkipped,
                                                "never run on hardware before, and here it failed: "
                                                "the worker exited with code 3: trying new"),
                                           Pair(Status::kSkipped, "nothing to do")));
  EXPECT_TRUE(outcome.result.profile.complete);
  for (const Measurement& m : outcome.result.profile.measurements) EXPECT_FALSE(m.verified);
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

// Sittings per run; the number of blocks varies with the machine.
std::vector<std::size_t> sittings_of_runs(const Measurement& m) {
  std::vector<std::size_t> counts;
  for (const auto& run : m.sittings) counts.push_back(run.size());
  return counts;
}

TEST(Coordinator, OnlyACeilingsPointIsVisitedTwice) {
  const Outcome outcome = run_worker_catalog("^sittings");
  const Profile& profile = outcome.result.profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.measurements.size(), 4u);
  EXPECT_THAT(sittings_of_runs(profile.measurements[0]), ElementsAre());
  EXPECT_THAT(sittings_of_runs(profile.measurements[1]), ElementsAre(2));
  EXPECT_THAT(sittings_of_runs(profile.measurements[2]), ElementsAre());
  EXPECT_EQ(count_of(outcome.log, "visiting sittings.ceiling/bytes:2000"), 1u);
  EXPECT_EQ(count_of(outcome.log, "visiting sittings.ceiling/bytes:1000000"), 2u);
  // The second visit follows the rest of the phase.
  EXPECT_GT(outcome.log.rfind("visiting sittings.ceiling"), outcome.log.find("sittings.curve"));
  ASSERT_EQ(profile.ceilings.size(), 1u);
  EXPECT_TRUE(profile.ceilings[0].spread->sittings);
  EXPECT_EQ(profile.ceilings[0].spread->runs_measured, 0);
}

TEST(Coordinator, RunsAreMergedIntoOneProfile) {
  const Outcome outcome = run_worker_catalog("^sittings", 3);
  const Profile& profile = outcome.result.profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.measurements.size(), 4u);
  EXPECT_THAT(sittings_of_runs(profile.measurements[0]), ElementsAre(1, 1, 1));
  EXPECT_THAT(sittings_of_runs(profile.measurements[1]), ElementsAre(2, 2, 2));
  ASSERT_EQ(profile.ceilings.size(), 1u);
  EXPECT_EQ(profile.ceilings[0].spread->runs_measured, 3);
  // Reading restores what was written.
  EXPECT_EQ(profile_from_json(to_json(profile), "written").ceilings, profile.ceilings);
}

std::vector<DeviceFacts> four_gpus() {
  std::vector<DeviceFacts> gpus(4);
  for (int i = 0; i < 4; ++i) {
    gpus[i].index = i;
    gpus[i].uuid = "GPU-" + std::to_string(i);
  }
  return gpus;
}

// Its points are tried in rounds, then alone, and no more once it has failed with two GPUs.
TEST(Coordinator, PairsWithoutABrokenGpuAreMeasured) {
  const Outcome outcome = run_worker_catalog("^node", 1, four_gpus());
  const std::string ended = "the worker exited with code 3: trying ";
  EXPECT_THAT(outcome.records,
              ElementsAre(Pair(Status::kError, ended + "0-3"), Pair(Status::kSkipped, _),
                          Pair(Status::kSkipped, _), Pair(Status::kError, ended + "1-3"),
                          Pair(Status::kSkipped, _),
                          Pair(Status::kError, "not tried: GPU 3 failed with GPUs 0, 1")));
  EXPECT_FALSE(outcome.result.profile.complete);
  for (const Measurement& m : outcome.result.profile.measurements) EXPECT_EQ(m.device, kNodeDevice);
}

TEST(Coordinator, RefusesBesideAnotherProcessIfAsked) {
  std::vector<DeviceFacts> gpus = four_gpus();
  gpus[1].processes = {{.pid = 4711, .name = "python3", .memory_bytes = {}}};
  const Outcome outcome = run_worker_catalog("^worker", 1, gpus, true);
  EXPECT_TRUE(outcome.records.empty());
  EXPECT_FALSE(outcome.result.profile.complete);
  EXPECT_TRUE(outcome.result.stopped);
  EXPECT_EQ(other_user(outcome.result.profile), "GPU 1: python3 (4711)");
  gpus[1].processes.clear();
  EXPECT_EQ(run_worker_catalog("^worker", 1, gpus, true).records.size(), 5);
}

TEST(Coordinator, PairsWithAGpuThatCannotBeMeasuredAreNotTried) {
  std::vector<DeviceFacts> gpus = four_gpus();
  gpus[3].unusable = "fell off the bus";
  const Outcome outcome = run_worker_catalog("^node", 1, gpus);
  EXPECT_EQ(count_of(outcome.log, "trying 0-3"), 0U);
  EXPECT_THAT(outcome.records, Contains(Pair(Status::kError, "GPU 3: fell off the bus")).Times(3));
  EXPECT_THAT(outcome.records, Contains(Pair(Status::kSkipped, "nothing to do")).Times(3));
}

Outcome run_made_up_gpu(const std::string& settings, const std::vector<DeviceFacts>& gpus) {
  ::setenv(kMadeUpGpu, settings.c_str(), 1);
  Outcome outcome = run_worker_catalog("^gpu", 1, gpus);
  ::unsetenv(kMadeUpGpu);
  return outcome;
}

// Its SMs do at most 1e9 ops/s each.
TEST(Coordinator, AnImplausibleValueIsMeasuredOnceMore) {
  std::vector<DeviceFacts> gpus = four_gpus();
  gpus.resize(1);
  gpus[0].sm_count = 1;
  gpus[0].sm_clock_max_hz = 1e9;
  const std::string remark = "measured again: 1.50 GOP/s is above what the hardware can do";
  for (const auto& [values, kept, implausible] :
       {std::tuple("1.5e9 0.9e9", 0.9e9, false), {"1.5e9 1.6e9", 1.6e9, true}}) {
    const Profile profile = run_made_up_gpu("GPU-0 " + std::string(values), gpus).result.profile;
    ASSERT_EQ(profile.measurements.size(), 1U);
    const Measurement& m = profile.measurements[0];
    EXPECT_EQ(m.value, kept);
    EXPECT_EQ(m.flags.implausible, implausible);
    EXPECT_EQ(m.reason, remark);
    EXPECT_EQ(m.duration_s, 2);
  }
  const Profile plausible = run_made_up_gpu("GPU-0 0.8e9 0.9e9", gpus).result.profile;
  EXPECT_EQ(plausible.measurements[0].value, 0.8e9);
  EXPECT_EQ(plausible.measurements[0].reason, "");
}

// A worker that waits stands for a hanging GPU.
TEST(Coordinator, AGpuThatHangsCostsThePointAndNoOtherGpu) {
  std::vector<DeviceFacts> gpus = four_gpus();
  gpus.resize(2);
  gpus[1].unusable = "fell off the bus";
  const Outcome outcome = run_made_up_gpu(gpus[0].uuid, gpus);
  EXPECT_THAT(outcome.records,
              ElementsAre(Pair(Status::kError, ::testing::MatchesRegex("no answer in 2[0-9] s")),
                          Pair(Status::kError, "fell off the bus")));
  EXPECT_FALSE(outcome.result.profile.complete);
}

}  // namespace
}  // namespace peakline::bench

// What a run is asked for: points, devices, options of workers, environment, file name.

#include "harness/run/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "bench/pairs.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/conclude/sittings.hpp"
#include "harness/run/build_facts.hpp"
#include "harness/run/worker.hpp"
#include "tests/unit/texts.hpp"

namespace peakline::bench {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    add("plan.host", {{.phase = Phase::kHost, .quick = true, .seconds = 1}});
    add("plan.mixed",
        {{.params = {{"load", "sustained"}}, .phase = Phase::kSustained, .seconds = 6},
         {.params = {{"load", "burst"}}, .phase = Phase::kBurst, .quick = true, .seconds = 2}});
    const auto link = [](std::int64_t bytes, bool quick) {
      return Point{
          .params = {{"bytes", bytes}}, .phase = Phase::kLink, .quick = quick, .seconds = 0.5};
    };
    add("plan.link", {link(4096, true), link(8192, false)});
  }

  void add(const char* id, std::vector<Point> points) {
    registry_.add({.id = id,
                   .what = "",
                   .work = "",
                   .limit = no_limit("a test"),
                   .points = std::move(points)},
                  std::function<void(HostBench&)>([](HostBench&) {}));
  }

  static std::vector<std::string> names(const DevicePlan& device) {
    std::vector<std::string> result;
    for (const PlannedPoint& point : device.points) result.push_back(point.name);
    return result;
  }

  std::string refusal(const std::vector<std::string>& gpus, bool quick, const std::string& filter) {
    return message_of<UsageError>([&] { make_plan(registry_, gpus, quick, filter); });
  }

  Registry registry_;
};

TEST_F(PlanTest, OrdersByPhaseAndGivesEachDeviceAll) {
  const std::vector<std::string> gpus = {"GPU-a", "GPU-b"};
  const Plan plan = make_plan(registry_, gpus, false, "");
  ASSERT_EQ(plan.devices.size(), 3);
  EXPECT_EQ(plan.devices[0].device, "host");
  EXPECT_THAT(names(plan.devices[0]), ElementsAre("plan.host"));
  EXPECT_EQ(plan.devices[2].device, "GPU-b");
  EXPECT_THAT(names(plan.devices[2]),
              ElementsAre("plan.link/bytes:4096", "plan.link/bytes:8192", "plan.mixed/load:burst",
                          "plan.mixed/load:sustained"));
  EXPECT_EQ(plan.size(), 9);
  // Links in sequence, the rest in parallel: 1 + 2 x 1 + 8.
  EXPECT_DOUBLE_EQ(plan.seconds(), 11);
}

TEST_F(PlanTest, WhatADeviceCannotHaveTakesNoTime) {
  registry_.add({.id = "plan.new",
                 .what = "w",
                 .work = "w",
                 .runs_on = [](const DeviceFacts& device) { return device.compute_major >= 10; },
                 .points = {{.phase = Phase::kBurst, .seconds = 64}}},
                on_gpu([](auto&) {}));
  std::vector<DeviceFacts> devices(1);
  devices[0].uuid = "GPU-a";
  devices[0].compute_major = 9;
  const std::vector<std::string> gpus = {"GPU-a"};
  Plan plan = make_plan(registry_, gpus, false, "");
  const double with_all = plan.seconds();
  fit_to_devices(plan, devices);
  EXPECT_DOUBLE_EQ(plan.seconds(), with_all - 64);
  EXPECT_THAT(names(plan.devices[1]), testing::Contains("plan.new"));  // to be skipped
  devices[0].compute_major = 10;
  plan = make_plan(registry_, gpus, false, "");
  fit_to_devices(plan, devices);
  EXPECT_DOUBLE_EQ(plan.seconds(), with_all);
}

TEST_F(PlanTest, WhatTheHostDecidesIsMeasuredOncePerSide) {
  registry_.add({.id = "plan.ceiling",
                 .what = "w",
                 .work = "w",
                 .ceilings = {{.resource = resource("pcie.h2d")}},
                 .points = {{.phase = Phase::kLink, .seconds = 0.5}}},
                on_gpu([](auto&) {}));
  std::vector<DeviceFacts> devices(4);
  std::vector<std::string> gpus;
  for (int i = 0; i < 4; ++i) {
    devices[i].index = i;
    devices[i].uuid = gpus.emplace_back("GPU-" + std::to_string(i));
    devices[i].numa_node = i / 2;
  }
  devices[0].unusable = "lost";
  Plan plan = make_plan(registry_, gpus, false, "");
  fit_to_devices(plan, devices);
  const auto linked = [&](int gpu) {
    return names(plan.devices[static_cast<std::size_t>(gpu) + 1]).size();
  };
  EXPECT_EQ(linked(1), 5);  // in GPU 0's place
  EXPECT_EQ(linked(2), 5);
  EXPECT_EQ(linked(3), 3);
  EXPECT_THAT(names(plan.devices[4]), testing::Contains("plan.ceiling"));
  plan = make_plan(registry_, gpus, false, "^plan.link");
  fit_to_devices(plan, devices);
  EXPECT_EQ(plan.devices.size(), 3);  // without GPU 3
}

TEST_F(PlanTest, QuickAndFilterLeaveOutWhatIsNotPartOfThem) {
  const std::vector<std::string> gpus = {"GPU-a"};
  Plan plan = make_plan(registry_, gpus, true, "");
  EXPECT_THAT(names(plan.devices[1]), ElementsAre("plan.link/bytes:4096", "plan.mixed/load:burst"));
  // The filter is searched in name and parameters.
  plan = make_plan(registry_, gpus, false, "bytes:8|d:burst$");
  ASSERT_EQ(plan.devices.size(), 1);
  EXPECT_THAT(names(plan.devices[0]), ElementsAre("plan.link/bytes:8192", "plan.mixed/load:burst"));
}

TEST_F(PlanTest, SaysWhyNothingIsLeft) {
  EXPECT_THAT(refusal({}, false, "plan.lnik"), HasSubstr("the closest are plan.link"));
  EXPECT_THAT(refusal({}, false, "plan.link"), HasSubstr("matches only GPU benchmarks"));
  EXPECT_THAT(refusal({"GPU-a"}, true, "sustained"), HasSubstr("of --quick, only of --full"));
  EXPECT_THAT(
      refusal({}, false, "(plan"),
      HasSubstr("--filter '(plan': not a regular expression (RE2 syntax): missing ): (plan"));
}

TEST_F(PlanTest, HostileFiltersAreAnsweredAtOnceAndBriefly) {
  const std::clock_t start = std::clock();  // CPU time, independent of other work
  for (const std::string& filter :
       {std::string(100'000, 'x'), std::string(20'000, '('), std::string(20'000, '['),
        std::string(20'000, '(') + "!" + std::string(20'000, ')'), std::string("x{1000}{1000}"),
        std::string("(([a-z.:/0-9]+)+)+$!"), std::string("(.*)*(.*)*(.*)*zzzz"),
        std::string("plan\033[2J"), std::string("\xff")}) {
    const std::string message = refusal({}, false, filter);
    EXPECT_THAT(message, StartsWith("--filter '"));
    EXPECT_LT(message.size(), 300) << message;
    EXPECT_EQ(message.find('\033'), message.npos);
  }
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
}

std::vector<DeviceFacts> two_gpus() {
  std::vector<DeviceFacts> gpus(2);
  gpus[0].uuid = "GPU-0123aaaa-0000-0000-0000-000000000000";
  gpus[1].uuid = "GPU-0123bbbb-0000-0000-0000-000000000000";
  for (int i : {0, 1}) gpus[i].index = i;
  return gpus;
}

std::vector<int> indices(const std::vector<DeviceFacts>& devices) {
  std::vector<int> result;
  for (const DeviceFacts& device : devices) result.push_back(device.index);
  return result;
}

TEST(SelectGpus, TakesIndicesAndUuids) {
  const auto all = two_gpus();
  EXPECT_THAT(indices(select_gpus(all, "all")), ElementsAre(0, 1));
  EXPECT_THAT(indices(select_gpus(all, "1")), ElementsAre(1));
  EXPECT_THAT(indices(select_gpus(all, "1,0,1")), ElementsAre(1, 0));
  EXPECT_THAT(indices(select_gpus(all, all[1].uuid)), ElementsAre(1));
  EXPECT_THAT(indices(select_gpus(all, "GPU-0123a,1")), ElementsAre(0, 1));
}

TEST(SelectGpus, NamesThoseThereAre) {
  const auto all = two_gpus();
  for (const char* wrong : {"2", "GPU-ffff", "GPU-", "GPU-0123", "0,,1", "-1", "0 "}) {
    EXPECT_THAT(message_of<UsageError>([&] { select_gpus(all, wrong); }),
                HasSubstr("1 (" + all[1].uuid + ")"))
        << wrong;
  }
  for (const char* nothing : {",", ""}) EXPECT_THROW(select_gpus(all, nothing), UsageError);
}

TEST(VisibleGpus, EndsAtTheFirstThatDoesNotExist) {
  const auto all = two_gpus();
  EXPECT_THAT(indices(visible_gpus(all, "1,0")), ElementsAre(0, 1));
  EXPECT_THAT(indices(visible_gpus(all, "1,7,0")), ElementsAre(1));
  EXPECT_THAT(indices(visible_gpus(all, all[0].uuid)), ElementsAre(0));
  EXPECT_THAT(indices(visible_gpus(all, "")), ElementsAre());
  EXPECT_THAT(indices(visible_gpus(all, "-1")), ElementsAre());
}

class NodePlan : public PlanTest {
 protected:
  NodePlan() {
    registry_ = {};
    add("node.load",
        concurrent_points({0, 1, 2, 3}, {.phase = Phase::kNodeLoad, .seconds = 3}, true));
    add("node.pair", pair_points({0, 1, 2, 3}, false, {.phase = Phase::kNode, .seconds = 1}));
  }
};

TEST_F(NodePlan, HasItsPointsByPhaseAndSharesTheTimeOfARound) {
  const std::vector<std::string> gpus = {"GPU-a", "GPU-b", "GPU-c", "GPU-d"};
  const Plan plan = make_plan(registry_, gpus, false, "");
  ASSERT_EQ(plan.devices.size(), 1U);
  EXPECT_EQ(plan.devices[0].device, kNodeDevice);
  EXPECT_EQ(plan.devices[0].points.front().name, "node.pair/pair:0-3");
  EXPECT_EQ(plan.devices[0].points.back().name, "node.load/gpu:0/beside:none");
  // Three rounds of pairs; four GPUs together and one alone.
  EXPECT_DOUBLE_EQ(plan.seconds(), 3 * 1 + 2 * 3);
}

TEST_F(NodePlan, OnlyGpusHaveAllSittingsInQuickRuns) {
  for (const Phase phase : {Phase::kHost, Phase::kNode, Phase::kLink})
    registry_.add({.id = "x." + std::string(phase_name(phase)),
                   .what = "w",
                   .work = "w",
                   .ceilings = {{.resource = resource("hbm.read")}},
                   .points = {{.phase = phase, .timing = Timing::kFull, .quick = true}}},
                  std::function<void(HostBench&)>([](HostBench&) {}));
  const std::vector<std::string> gpus = {"GPU-a", "GPU-b"};
  for (const bool quick : {true, false})
    for (const DevicePlan& device : make_plan(registry_, gpus, quick, "^x").devices)
      for (const PlannedPoint& point : device.points)
        EXPECT_EQ(point.sittings, quick && point.name != "x.link" ? 1 : kSittings) << point.name;
}

TEST_F(NodePlan, NeedsTwoGpus) {
  const std::vector<std::string> one = {"GPU-a"}, apart = {"GPU-a", "GPU-b"};
  for (const auto& gpus : {one, apart})
    EXPECT_THAT(message_of<UsageError>([&] { make_plan(registry_, gpus, false, "^node", false); }),
                HasSubstr("between GPUs, and no two are measured"));
}

TEST(WorkerOptions, ArriveAsTheyWereGiven) {
  RunOptions options;
  options.quick = true;
  options.max_noise = 0.02;
  options.min_samples = 80;
  options.seed = 18446744073709551615u;
  options.verify = false;
  options.soak_s = 0.1;
  options.verified_soak = true;
  options.storage_descriptor = 7;
  options.profile = true;
  options.gpus = {0, 1};
  options.visible_gpus = {1};
  options.alone = true;
  EXPECT_EQ(worker_options_from(worker_options(options)), options);
}

TEST(Environment, NamesWhatChangesResults) {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
  ::setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  ::setenv("NCCL_ALGO", "tree", 1);
  ::setenv("NCCL_VERSION", "2.28.3", 1);
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  ::setenv("CUDA_HOME", "/usr/local/cuda", 1);
  EXPECT_THAT(relevant_environment(),
              IsSupersetOf({Pair("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
                            Pair("NVIDIA_TF32_OVERRIDE", "0"), Pair("NCCL_ALGO", "tree")}));
  for (const char* name : {"CUDA_HOME", "NCCL_VERSION", "NCCL_NVLS_ENABLE"})
    EXPECT_THAT(relevant_environment(), Not(Contains(Pair(name, _)))) << name;
  ::setenv("NCCL_NVLS_ENABLE", "1", 1);
  EXPECT_THAT(relevant_environment(), Contains(Pair("NCCL_NVLS_ENABLE", "1")));
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  ::unsetenv("NVIDIA_TF32_OVERRIDE");
  for (const char* name : {"NCCL_ALGO", "NCCL_VERSION", "NCCL_NVLS_ENABLE"}) ::unsetenv(name);
  ::unsetenv("CUDA_HOME");
}

}  // namespace
}  // namespace peakline::bench

// Node benchmarks: points, limits, ceilings, figures and findings.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "bench/catalog.hpp"
#include "bench/pairs.hpp"
#include "harness/benchmark/round.hpp"
#include "harness/conclude/conclusions.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/judge/sides.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/node_faults.hpp"
#include "harness/show/compare.hpp"
#include "harness/values/measurement.hpp"
#include "tests/unit/figures.hpp"
#include "tests/unit/sample_profile.hpp"

namespace peakline {
namespace {

using bench::GpuPair;
using sample::finding;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(PairRounds, HaveEveryPairOnceAndNoGpuTwiceInARound) {
  for (const std::size_t count : {2, 3, 4, 5, 8}) {
    std::vector<int> gpus;
    for (std::size_t i = 0; i < count; ++i) gpus.push_back(static_cast<int>(10 + i));
    const auto rounds = bench::pair_rounds(gpus);
    EXPECT_EQ(rounds.size(), count % 2 == 0 ? count - 1 : count);
    std::set<GpuPair> pairs;
    for (const auto& round : rounds) {
      EXPECT_EQ(round.size(), count / 2);
      std::set<int> busy;
      for (const auto& [low, high] : round) {
        EXPECT_LT(low, high);
        EXPECT_TRUE(busy.insert(low).second && busy.insert(high).second);
        pairs.emplace(low, high);
      }
    }
    EXPECT_EQ(pairs.size(), count * (count - 1) / 2);
  }
}

TEST(PairPoints, NameTheirPairAndShareARound) {
  const Point like{.params = {{"bytes", kGiB}}, .phase = Phase::kNode};
  const auto two = bench::pair_points({0, 3}, true, like);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(point_name("p2p", two[1].params), "p2p/pair:3-0/bytes:1073741824");
  EXPECT_THAT(two[1].gpus, ElementsAre(3, 0));
  EXPECT_EQ(two[0].round, 0);  // alone

  Benchmark benchmark;
  benchmark.points = bench::pair_points({0, 1, 2, 3}, true, like);
  EXPECT_EQ(benchmark.points.size(), 12U);
  for (const Point& point : benchmark.points) EXPECT_EQ(round_of(benchmark, point).size(), 2U);
}

TEST(ConcurrentPoints, AreAllAtOnceAndThenOneAlone) {
  Benchmark benchmark;
  const Point like{.params = {}, .phase = Phase::kNode};
  EXPECT_EQ(bench::concurrent_points({0, 1, 4}, like).size(), 3U);
  benchmark.points = bench::concurrent_points({0, 1, 4}, like, true);
  ASSERT_EQ(benchmark.points.size(), 4U);
  EXPECT_EQ(point_name("x", benchmark.points[2].params), "x/gpu:4/beside:all");
  EXPECT_EQ(point_name("x", benchmark.points[3].params), "x/gpu:0/beside:none");
  EXPECT_EQ(round_of(benchmark, benchmark.points[2]).size(), 3U);
  EXPECT_EQ(round_of(benchmark, benchmark.points[3]).size(), 1U);
  // They say nothing unless all GPUs work.
  for (const Point& point : benchmark.points) {
    const bool all = text_param(point.params, "beside") == "all";
    EXPECT_EQ(point.whole_round, all);
    EXPECT_EQ(point.round > 0, all);
  }
}

TEST(NodeFaults, GiveUpAPairAndThenAGpu) {
  bench::NodeFaults faults;
  faults.add("p2p", {0, 1});
  EXPECT_THAT(faults.why_not("p2p", {1, 0}), IsEmpty());
  faults.add("p2p", {1, 0});
  EXPECT_EQ(faults.why_not("p2p", {0, 1}), "not tried: p2p failed 2 times with GPUs 0, 1");
  EXPECT_THAT(faults.why_not("p2p", {0, 2}), IsEmpty());
  faults.add("p2p", {2, 1});
  EXPECT_THAT(faults.why_not("p2p", {1, 3}), HasSubstr("GPU 1 failed with GPUs 0, 2"));
  EXPECT_THAT(faults.why_not("p2p", {0, 2}), IsEmpty());
  faults.add("p2p", {0, 1, 2, 3});  // incriminates none of them
  EXPECT_THAT(faults.why_not("p2p", {0, 3}), IsEmpty());
}

TEST(NodeFaults, WhatNcclFailsAtTwiceIsGivenUpAndNothingElse) {
  for (const std::vector<int>& gpus : {std::vector{0, 1}, std::vector{0, 1, 2, 3}}) {
    bench::NodeFaults faults;
    faults.add("nccl", gpus);
    EXPECT_THAT(faults.why_not("nccl", gpus), IsEmpty());
    faults.add("nccl", gpus);
    EXPECT_THAT(faults.why_not("nccl", gpus), HasSubstr("nccl failed 2 times"));
    EXPECT_THAT(faults.why_not("p2p", {0, 1}), IsEmpty());
  }
}

// Three threads: one is late, one leaves before, and the others work until the last has ended.
TEST(Round, WaitsForThoseThatAreThereAndForNobodyElse) {
  bench::Round round(3);
  std::atomic<int> begun = 0, ended = 0;
  std::atomic<int> work_after_end = 0;
  const auto member = [&](int late_ms) {
    bench::RoundMember self(&round);
    std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
    ++begun;
    EXPECT_FALSE(self.begin()) << "one has left";
    EXPECT_EQ(begun, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
    ++ended;
    self.end([&] { ++work_after_end; });
    EXPECT_EQ(ended, 2);
  };
  {
    const std::jthread early([&] { member(0); }), late([&] { member(30); });
    const std::jthread leaves([&] { const bench::RoundMember self(&round); });
  }
  EXPECT_GT(work_after_end, 0);
  bench::RoundMember alone(nullptr);
  EXPECT_FALSE(alone.begin());
  alone.end([] { ADD_FAILURE() << "nobody is waited for"; });
}

TEST(Round, IsWholeIfAllOfItBegin) {
  bench::Round round(2);
  const auto member = [&] {
    bench::RoundMember self(&round);
    EXPECT_TRUE(self.has_others());
    EXPECT_TRUE(self.begin());
    self.end([] {});
  };
  const std::jthread one(member), other(member);
}

TEST(FirstGpu, IsOfThePairOrTheGpuItself) {
  EXPECT_EQ(first_gpu({{"pair", std::string("12-3")}}), 12);
  EXPECT_EQ(second_gpu({{"pair", std::string("12-3")}}), 3);
  EXPECT_EQ(first_gpu({{"gpu", std::int64_t{5}}}), 5);
  EXPECT_EQ(first_gpu({{"gpus", std::int64_t{8}}}), std::nullopt);
  EXPECT_EQ(second_gpu({{"pair", std::string("odd")}}), std::nullopt);
}

// H200s on a switch.
Profile node(int gpus = 2) {
  Profile profile = sample::h200_run();
  profile.devices.resize(gpus, sample::h200());
  for (int i = 0; i < gpus; ++i) {
    DeviceFacts& gpu = profile.devices[i];
    gpu.index = i;
    if (i > 0) gpu.uuid.back() = static_cast<char>('0' + i);
    gpu.nvlinks = {.version = 4, .count = 18, .bytes_per_s = 26.562e9, .to_switch = true};
    for (int j = 0; j < gpus; ++j)
      if (j != i) gpu.peers.push_back({.index = j, .path = "PHB", .nvlinks = 18, .refused = ""});
  }
  return profile;
}

Measurement read(const std::string& pair, double rate) {
  Measurement m = sample::measurement("p2p.read.ce", {{"pair", pair}, {"bytes", kGiB}},
                                      Quantity::kByteRate, rate, std::string(kNodeDevice));
  const double times_longer = static_cast<double>(kGiB) / m.work.bytes_read;
  sample::scale(m, 1 / times_longer);
  m.work.bytes_read = static_cast<double>(kGiB);
  m.value = rate;
  return m;
}

// For three GPUs.
Benchmarks benchmarks() {
  static const bench::Registry kRegistry = [] {
    bench::Registry registry;
    bench::register_all(registry, {.gpus = {0, 1, 2}});
    return registry;
  }();
  return kRegistry.benchmarks();
}

// Conclusions of the node's measurements.
Profile with_reads(Profile profile, const std::vector<Measurement>& reads) {
  profile.measurements.insert(profile.measurements.end(), reads.begin(), reads.end());
  return with_conclusions(std::move(profile), benchmarks());
}

TEST(Node, ConditionsNameItsLinksAndNccl) {
  Profile profile = node();
  profile.devices.back().nvlinks.down = {7};
  Measurement reduce = sample::measurement("nccl.all_reduce", {}, Quantity::kByteRate, 3e11,
                                           std::string(kNodeDevice));
  reduce.launch = {{"nccl", std::string("2.28.3")}};
  profile.measurements.push_back(std::move(reduce));
  for (const DeviceView& view : device_views(profile)) {
    if (!view.is_node()) continue;
    const auto facts = conditions_of(view);
    EXPECT_THAT(facts, Contains(Pair("NVLinks", "18 + 17 of 36")));
    EXPECT_THAT(facts, Contains(Pair("NCCL", "2.28.3")));
  }
}

TEST(NvlinkLimit, CountsTheLinksThatAreUpAtTheirSpeed) {
  const Limit limit = nvlink(2);
  Profile profile = node();
  DeviceFacts& gpu = profile.devices[0];
  const Measurement m = read("0-1", 1);
  EXPECT_EQ(limit.of(&m, gpu)->value, 900e9);
  gpu.peers[0].nvlinks = 12;
  EXPECT_EQ(limit.of(&m, gpu)->value, 600e9);
  gpu.nvlinks.bytes_per_s = 20e9;  // trained down
  EXPECT_EQ(limit.of(&m, gpu)->value, 480e9);
  gpu.peers[0].nvlinks = 0;
  EXPECT_FALSE(limit.of(&m, gpu));
  EXPECT_FALSE(limit.of(nullptr, gpu));
  Measurement all = m;
  all.params = {{"gpus", std::int64_t{2}}};
  EXPECT_EQ(nvlink(1).of(&all, node().devices[0])->value, 900e9);
  EXPECT_EQ(nvlink_payload_bandwidth(5), 50e9);
  EXPECT_FALSE(nvlink_payload_bandwidth(99));
}

TEST(PeerLimit, IsThatOfPcieWhereNoNvlinksLeadThere) {
  Profile profile = node();
  DeviceFacts& gpu = profile.devices[0];
  const Measurement m = read("0-1", 1);
  EXPECT_EQ(peer_link(2).of(&m, gpu)->value, 900e9);
  gpu.nvlinks = {};
  gpu.peers[0].nvlinks = 0;
  gpu.pcie = {
      .generation = std::nullopt, .width = std::nullopt, .max_generation = 4, .max_width = 16};
  EXPECT_NEAR(peer_link(1).of(&m, gpu)->value, 31.5e9, 0.02e9);
  // Links are up, but their targets unknown.
  DeviceFacts hidden = gpu;
  hidden.nvlinks.count = 18;
  for (PeerFacts& peer : hidden.peers) peer.nvlinks = 0;
  EXPECT_FALSE(peer_link(1).of(&m, hidden));
  EXPECT_NEAR(peer_link(2).of(&m, gpu)->value, 63.0e9, 0.04e9);
  Measurement all = m;
  all.params = {{"gpus", std::int64_t{4}}};
  EXPECT_NEAR(peer_link(1).of(&all, gpu)->value, 126e9, 0.1e9);
  gpu.pcie = {};
  EXPECT_FALSE(peer_link(1).of(&m, gpu));
}

TEST(Node, ASlowPairIsAFinding) {
  const Profile profile =
      with_reads(node(3), {read("0-1", 393e9), read("1-0", 392e9), read("0-2", 310e9)});
  ASSERT_NE(finding(profile, "slow_pair"), nullptr);
  EXPECT_EQ(finding(profile, "slow_pair")->device, kNodeDevice);
  EXPECT_THAT(finding(profile, "slow_pair")->message, HasSubstr("pair:0-2"));
}

TEST(Node, APairWithFewerLinksIsNotSlow) {
  Profile profile = node(3);
  profile.devices[0].peers[1].nvlinks = 12;
  profile.measurements.clear();
  EXPECT_EQ(
      finding(with_reads(profile, {read("0-1", 393e9), read("1-0", 392e9), read("0-2", 262e9)}),
              "slow_pair"),
      nullptr);
}

TEST(Concurrent, TakesTheRateAloneFromCeilings) {
  Profile profile = node();
  const Ceiling alone =
      *find_ceiling(profile.ceilings, profile.devices[0].uuid, "pcie.h2d", Basis::kMeasured);
  const Profile told = with_reads(
      profile,
      {sample::measurement("pcie.concurrent.h2d", {{"gpu", 0}, {"beside", "all"}},
                           Quantity::kByteRate, alone.value / 2, std::string(kNodeDevice)),
       sample::measurement("pcie.concurrent.h2d", {{"gpu", 1}, {"beside", "all"}},
                           Quantity::kByteRate, alone.value / 2, std::string(kNodeDevice))});
  const auto curve = std::ranges::find(told.curves, "host links at once", &Curve::topic);
  ASSERT_NE(curve, told.curves.end());
  EXPECT_NEAR(figure_of(*curve, {.name = "kept", .by = {{"gpu", 0}}}), 0.5, 1e-9);
}

TEST(HostSide, IsSharedUnlessSocketsLieBetween) {
  DeviceFacts one, other;
  other.index = 1;
  const auto shared = [&](std::optional<int> node, std::optional<int> other_node,
                          const char* path) {
    one.numa_node = node;
    other.numa_node = other_node;
    one.peers = {{.index = 1, .path = path, .nvlinks = 0, .refused = ""}};
    return share_host_side(one, other);
  };
  EXPECT_TRUE(shared(0, 0, "SYS"));
  EXPECT_FALSE(shared(0, 1, "PHB"));
  for (const char* path : {"PIX", "PXB", "PHB", "NODE"}) EXPECT_TRUE(shared({}, {}, path)) << path;
  for (const char* path : {"SYS", ""}) EXPECT_FALSE(shared({}, {}, path)) << path;
}

TEST(LinkFindings, AreOfWhatIsDownSlowOrRefused) {
  const auto derived = [](auto change) {
    Profile profile = node();
    change(profile);
    return sample::derived(profile);
  };
  const Profile sound = derived([](Profile&) {});
  for (const char* code : {"nvlink_down", "nvlink_slow", "peer_access_refused"})
    EXPECT_EQ(finding(sound, code), nullptr);

  const Profile down = derived([](Profile& p) { p.devices[1].nvlinks.down = {3, 17}; });
  ASSERT_NE(finding(down, "nvlink_down"), nullptr);
  EXPECT_EQ(finding(down, "nvlink_down")->severity, Severity::kWarning);
  EXPECT_EQ(finding(down, "nvlink_down")->device, down.devices[1].uuid);
  const Profile both = derived([](Profile& p) {
    for (DeviceFacts& gpu : p.devices) gpu.nvlinks.down = {17};
  });
  EXPECT_EQ(finding(both, "nvlink_down")->severity, Severity::kInfo);
  const Profile all = derived([](Profile& p) {
    for (DeviceFacts& gpu : p.devices) gpu.nvlinks.count = 2, gpu.nvlinks.down = {0, 1};
  });
  EXPECT_EQ(finding(all, "nvlink_down"), nullptr);

  const Profile slow = derived([](Profile& p) { p.devices[1].nvlinks.slow = {5}; });
  EXPECT_THAT(finding(slow, "nvlink_slow")->message, HasSubstr("NVLink 5 is slower"));
  const Profile refused = derived(
      [](Profile& p) { p.devices[1].peers[0].refused = "the chipset does not support it"; });
  EXPECT_THAT(finding(refused, "peer_access_refused")->message, HasSubstr("chipset"));
}

}  // namespace
}  // namespace peakline

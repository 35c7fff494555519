#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/host/kernels.hpp"
#include "harness/benchmark/host_bench.hpp"
#include "harness/host/affinity.hpp"
#include "harness/host/facts.hpp"
#include "harness/host/sampler.hpp"
#include "harness/host/topology.hpp"
#include "harness/values/clock.hpp"
#include "kernels/host/memory.hpp"

namespace peakline::host {
namespace {

namespace fs = std::filesystem;

TEST(HostFacts, NamesTheOperatingSystem) {
  EXPECT_EQ(parse_os_release(
                "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(parse_os_release("PRETTY_NAME=Alpine"), "Alpine");
  EXPECT_EQ(parse_os_release("PRETTY_NAME='x'"), "x");
  EXPECT_EQ(parse_os_release("NAME=x\n"), "");
  EXPECT_EQ(parse_os_release(""), "");
}

TEST(HostFacts, NamesTheCpu) {
  EXPECT_EQ(parse_cpu_model("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654\n"),
            "AMD EPYC 9654");
  EXPECT_EQ(parse_cpu_model("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"),
            "ARM implementer 0x41 part 0xd4f");
  EXPECT_EQ(parse_cpu_model("processor\t: 0\n"), "");
}

TEST(HostFacts, ReadsMemoryInfo) {
  constexpr std::string_view kText =
      "MemTotal:       24615940 kB\nMemAvailable:   1024 kB\nHugePages_Total:       3\n";
  EXPECT_EQ(parse_meminfo(kText, "MemTotal"), 24615940.0 * 1024);
  EXPECT_EQ(parse_meminfo(kText, "MemAvailable"), 1024.0 * 1024);
  EXPECT_EQ(parse_meminfo(kText, "HugePages_Total"), std::nullopt);
  EXPECT_EQ(parse_meminfo(kText, "SwapTotal"), std::nullopt);
  EXPECT_EQ(parse_meminfo("", "MemTotal"), std::nullopt);
}

using Files = std::vector<std::pair<const char*, const char*>>;

// Limits by /proc/self/cgroup and the files of a cgroup tree.
CgroupLimits limits(const char* self_cgroup, const Files& files = {}) {
  std::string pattern = (fs::temp_directory_path() / "peakline-cgroup-XXXXXX").string();
  const fs::path root = mkdtemp(pattern.data());
  for (const auto& [name, text] : files) {
    const fs::path file = root / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  const CgroupLimits found = read_cgroup_limits(self_cgroup, root);
  fs::remove_all(root);
  return found;
}

TEST(CgroupLimits, WithoutFilesNothingIsLimited) {
  for (const char* self : {"0::/\n", "", "nonsense\n:\n4:memory\n"})
    EXPECT_EQ(limits(self), CgroupLimits()) << self;
}

TEST(CgroupLimits, Version2) {
  EXPECT_EQ(limits("0::/a/b\n", {{"a/b/cpu.max", "350000 100000"},
                                 {"a/b/memory.max", "1000"},
                                 {"a/b/memory.current", "400"}}),
            (CgroupLimits{.cpus = 3.5, .memory_available_bytes = 600}));
  const Files none = {
      {"a/cpu.max", "max 100000"}, {"a/memory.max", "max"}, {"a/memory.current", "400"}};
  EXPECT_EQ(limits("0::/a\n", none), CgroupLimits());
}

TEST(CgroupLimits, AnAncestorLimitsToo) {
  EXPECT_EQ(limits("0::/a/b\n", {{"a/cpu.max", "200000 100000"},
                                 {"a/b/cpu.max", "800000 100000"},
                                 {"a/memory.max", "1000"},
                                 {"a/memory.current", "990"},
                                 {"a/b/memory.max", "500"},
                                 {"a/b/memory.current", "100"}}),
            (CgroupLimits{.cpus = 2, .memory_available_bytes = 10}));
}

TEST(CgroupLimits, Version1) {
  EXPECT_EQ(limits("4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n2:cpuset:/\n",
                   {{"cpu,cpuacct/docker/x/cpu.cfs_quota_us", "150000"},
                    {"cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000"},
                    {"memory/docker/x/memory.limit_in_bytes", "4096"},
                    {"memory/docker/x/memory.usage_in_bytes", "96"}}),
            (CgroupLimits{.cpus = 1.5, .memory_available_bytes = 4000}));
  const Files none = {{"cpu/cpu.cfs_quota_us", "-1"},
                      {"cpu/cpu.cfs_period_us", "100000"},
                      {"memory/memory.limit_in_bytes", "9223372036854771712"},
                      {"memory/memory.usage_in_bytes", "96"}};
  EXPECT_EQ(limits("4:memory:/\n3:cpu:/\n", none), CgroupLimits());
}

TEST(CgroupLimits, InAContainerOnlyTheRootIsVisible) {
  const Files root = {{"cpu/cpu.cfs_quota_us", "200000"}, {"cpu/cpu.cfs_period_us", "100000"}};
  EXPECT_EQ(limits("3:cpu:/docker/0123456789\n", root).cpus, 2);
}

TEST(CgroupLimits, BothVersionsAtOnce) {
  EXPECT_EQ(limits("1:memory:/a\n0::/a\n", {{"unified/a/cpu.max", "100000 100000"},
                                            {"memory/a/memory.limit_in_bytes", "4096"}}),
            (CgroupLimits{.cpus = 1, .memory_available_bytes = 4096}));
}

TEST(HostFacts, NamesTheHypervisorAndTheContainer) {
  EXPECT_EQ(virtualization_name({}), "");
  EXPECT_EQ(virtualization_name({.hypervisor_flag = true, .hypervisor_signature = "KVMKVMKVM"}),
            "kvm");
  EXPECT_EQ(virtualization_name({.hypervisor_flag = true, .hypervisor_signature = "Microsoft Hv"}),
            "hyper-v");
  EXPECT_EQ(virtualization_name({.hypervisor_flag = true}), "vm");
  EXPECT_EQ(virtualization_name({.dmi = "QEMU Standard PC"}), "qemu");
  EXPECT_EQ(virtualization_name({.dmi = "Amazon EC2 c7g.metal"}), "");
  EXPECT_EQ(virtualization_name({.docker_file = true}), "docker");
  EXPECT_EQ(virtualization_name({.self_cgroup = "0::/kubepods/burstable/pod1\n"}), "kubernetes");
  EXPECT_EQ(virtualization_name({.container_variable = "systemd-nspawn"}), "systemd-nspawn");
  EXPECT_EQ(
      virtualization_name(
          {.hypervisor_flag = true, .hypervisor_signature = "KVMKVMKVM", .podman_file = true}),
      "kvm, podman");
}

TEST(HostFacts, OfThisMachineAreConsistent) {
  const HostFacts facts = read_host_facts();
  EXPECT_FALSE(facts.hostname.empty());
  EXPECT_FALSE(facts.architecture.empty());
  EXPECT_THAT(facts.kernel, testing::StartsWith("Linux "));
  ASSERT_TRUE(facts.hardware_threads && facts.usable_threads && facts.memory_bytes);
  EXPECT_GE(*facts.usable_threads, 1);
  EXPECT_LE(*facts.usable_threads, *facts.hardware_threads);
  EXPECT_GE(facts.cpuset_threads, facts.usable_threads);
  EXPECT_GE(*facts.hardware_threads, facts.cores.value_or(1));
  EXPECT_EQ(facts.vector_extension, to_string(widest_vector_extension()));
  ASSERT_FALSE(facts.numa_nodes.empty());
  for (const CpuCacheFacts& cache : facts.caches) {
    EXPECT_GE(cache.level, 1);
    EXPECT_GT(cache.bytes, 0);
    EXPECT_GE(cache.count, 1);
  }
  const auto available = available_memory_bytes();
  ASSERT_TRUE(available);
  EXPECT_LE(*available, *facts.memory_bytes);
}

std::set<int> own_cpus() {
  cpu_set_t mask;
  EXPECT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  std::set<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
  return cpus;
}

TEST(UsableThreads, FollowTheAffinityMask) {
  // Its own thread has its own mask.
  std::thread([] {
    const std::set<int> before = own_cpus();
    EXPECT_LE(usable_threads(), static_cast<int>(before.size()));
    const std::optional<int> cpuset = cpuset_threads();
    EXPECT_GE(cpuset, static_cast<int>(before.size()));
    EXPECT_EQ(own_cpus(), before);
    ASSERT_TRUE(bind_thread_to_cpu(*before.begin()));
    EXPECT_EQ(own_cpus(), std::set{*before.begin()});
    EXPECT_EQ(usable_threads(), 1);
    EXPECT_EQ(cpuset_threads(), cpuset);  // unaffected by binding
  }).join();
}

TEST(UsableThreads, FitIntoTheCpuQuota) {
  EXPECT_EQ(usable_threads(8, std::nullopt), 8);
  EXPECT_EQ(usable_threads(8, 3.5), 3);
  EXPECT_EQ(usable_threads(8, 0.2), 1);
  EXPECT_EQ(usable_threads(8, 1e12), 8);
}

// A machine in hwloc's synthetic notation.
Topology made_up_machine(const char* description) {
  Topology::usable();  // before, from the real machine
  setenv("HWLOC_SYNTHETIC", description, 1);
  Topology topology = Topology::whole_machine();
  unsetenv("HWLOC_SYNTHETIC");
  return topology;
}

TEST(Topology, FewThreadsAreSpreadOverSocketsCachesAndCores) {
  // 2 sockets x 2 caches x 4 cores x 2 threads, CPUs numbered in this order.
  const Topology topology = made_up_machine("package:2 l3:2(size=33554432) core:4 pu:2");
  ASSERT_EQ(topology.hardware_threads(), 32);
  const auto places = [&](int threads, int cpus_in_place) {
    std::set<int> found;
    for (const int cpu : topology.spread(threads)) found.insert(cpu / cpus_in_place);
    return found.size();
  };
  EXPECT_EQ(places(2, 16), 2u);   // sockets
  EXPECT_EQ(places(4, 8), 4u);    // caches
  EXPECT_EQ(places(16, 2), 16u);  // cores
  EXPECT_EQ(places(32, 1), 32u);  // threads
  EXPECT_EQ(places(24, 2), 16u);
  EXPECT_EQ(topology.spread(40).size(), 40u);

  EXPECT_EQ(topology.sockets(), 2);
  EXPECT_EQ(topology.cores(), 16);
  EXPECT_THAT(topology.caches(),
              testing::ElementsAre(
                  CpuCacheFacts{.level = 3, .bytes = 32 << 20, .shared_by_cores = 4, .count = 4}));
  EXPECT_EQ(topology.last_level_cache_bytes(std::vector{0}), 32 << 20);
  EXPECT_EQ(topology.last_level_cache_bytes(std::vector{0, 7}), 32 << 20);
  EXPECT_EQ(topology.last_level_cache_bytes(std::vector{0, 8, 31}), 3 * (32 << 20));
}

TEST(Topology, WithoutCachesTheirSizeIsUnknown) {
  const Topology topology = made_up_machine("core:2 pu:1");
  EXPECT_EQ(topology.last_level_cache_bytes(std::vector{0, 1}), std::nullopt);
  EXPECT_TRUE(topology.caches().empty());
}

TEST(Topology, OffersOnlyCpusThatThisProcessMayUse) {
  const std::set<int> allowed = own_cpus();
  const std::vector<int> cpus = Topology::usable().spread(static_cast<int>(allowed.size()));
  EXPECT_EQ(std::set<int>(cpus.begin(), cpus.end()), allowed);
}

TEST(NodeBinding, PutsBackWhatWasBefore) {
  const std::set<int> before = own_cpus();
  const auto nodes = Topology::usable().numa_nodes();
  ASSERT_FALSE(nodes.empty());
  {
    const NodeBinding binding(nodes.front().index);
    for (const int cpu : own_cpus()) EXPECT_TRUE(before.contains(cpu));
  }
  EXPECT_EQ(own_cpus(), before);
}

TEST(NodeBinding, BindsNothingWithoutANode) {
  const std::set<int> before = own_cpus();
  for (const auto node : {std::optional<int>(), std::optional<int>(9999), std::optional<int>(-1)}) {
    const NodeBinding binding(node);
    EXPECT_FALSE(binding.cpus_bound());
    EXPECT_FALSE(binding.memory_bound());
    EXPECT_EQ(own_cpus(), before);
  }
}

TEST(NodeChoice, TakesWhatTheDeviceReportsUntried) {
  const auto never = [](int) -> double { throw std::logic_error("tried"); };
  const NodeChoice reported = choose_node(1, std::vector{0, 1}, never);
  EXPECT_EQ(reported.node, 1);
  EXPECT_FALSE(reported.tried);
  const NodeChoice only = choose_node(std::nullopt, std::vector{0}, never);
  EXPECT_EQ(only.node, std::nullopt);
  EXPECT_FALSE(only.tried);
}

TEST(NodeChoice, TriesEachWhereTheDeviceReportsNone) {
  std::vector<int> tried;
  const NodeChoice choice = choose_node(std::nullopt, std::vector{0, 2, 3}, [&](int node) {
    tried.push_back(node);
    return node == 2 ? 1.0 : 1.5;
  });
  EXPECT_THAT(tried, testing::ElementsAre(0, 2, 3));
  EXPECT_EQ(choice.node, 2);
  EXPECT_TRUE(choice.tried);
}

TEST(HostBuffer, IsAlignedZeroAndItsOwners) {
  constexpr std::size_t kHugePage = 2 << 20;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, 3 * kHugePage}) {
    HostBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kHugePage, 0u);
    ASSERT_GE(buffer.size_bytes(), bytes);
    auto* const data = buffer.as<unsigned char>();
    EXPECT_EQ(data[0], 0);
    data[0] = data[buffer.size_bytes() - 1] = 7;
    const HostBuffer moved = std::move(buffer);
    EXPECT_EQ(moved.data(), data);
    EXPECT_EQ(moved.as<unsigned char>()[moved.size_bytes() - 1], 7);
  }
}

TEST(HostBuffer, RefusesWhatCannotBe) {
  EXPECT_THROW(HostBuffer(std::size_t{1} << 60), std::system_error);
}

TEST(Team, EveryThreadDoesItsPartOnceOnItsOwnCpu) {
  Team team(usable_threads());
  std::vector<std::atomic<int>> parts(static_cast<std::size_t>(team.size()));
  std::vector<int> cpus(parts.size());
  for (int round = 1; round <= 3; ++round) {
    team.run([&](int thread) {
      ++parts[static_cast<std::size_t>(thread)];
      cpus[static_cast<std::size_t>(thread)] = sched_getcpu();
    });
    for (const auto& count : parts) EXPECT_EQ(count, round);
    if (team.bound()) {
      EXPECT_EQ(cpus, team.cpus());
    }
  }
}

TEST(Team, TimedFromTheFirstStartToTheLastFinish) {
  using namespace std::chrono_literals;
  Team team(2);
  const auto times = team.time_batches(
      [](int thread) { std::this_thread::sleep_for(thread == 0 ? 1ms : 5ms); }, 4, 3);
  ASSERT_EQ(times.size(), 3u);
  for (const double time_s : times) EXPECT_GE(time_s, 5e-3);
  EXPECT_LT(*std::min_element(times.begin(), times.end()), 50e-3);
}

TEST(Team, PassesErrorsOnAndLivesOn) {
  Team team(3);
  const auto failing = [](int thread) {
    if (thread == 1) throw std::runtime_error("part 1");
  };
  EXPECT_THROW(team.run(failing), std::runtime_error);
  EXPECT_THROW(team.time_batches(failing, 2, 5), std::runtime_error);
  std::atomic<int> parts = 0;
  team.run([&](int) { ++parts; });
  EXPECT_EQ(parts, 3);
}

TEST(Team, OfMoreThreadsThanCpusComesThrough) {
  Team team(4 * usable_threads());
  std::atomic<int> parts = 0;
  const double start_s = now_s();
  const auto times = team.time_batches([&](int) { ++parts; }, 2, 200);
  EXPECT_EQ(times.size(), 200u);
  EXPECT_LE(2 * std::accumulate(times.begin(), times.end(), 0.0), now_s() - start_s);
  EXPECT_EQ(parts, team.size() * 2 * 200);
}

TEST(Team, WarmsUpForAsLongAsAskedAndSizesTheSample) {
  using namespace std::chrono_literals;
  Team team(1);
  const double start_s = now_s();
  const auto launches = team.warm_up([](int) { std::this_thread::sleep_for(1ms); }, 0.02, 0.01);
  EXPECT_GE(now_s() - start_s, 0.02);
  EXPECT_GE(launches, 1);
  EXPECT_LE(launches, 10);
}

}  // namespace
}  // namespace peakline::host

namespace peakline::bench {
namespace {

class Kernels : public testing::TestWithParam<const HostKernels*> {
 protected:
  const HostKernels& kernels_ = *GetParam();

  template <class T>
  std::vector<T> start_values() const {
    std::vector<T> start(static_cast<std::size_t>(kernels_.fma_chains) *
                         static_cast<std::size_t>(kernels_.vector_bytes) / sizeof(T));
    for (std::size_t i = 0; i < start.size(); ++i)
      start[i] = static_cast<T>(1 + 0x1p-23 * static_cast<double>(random_word(1, i) >> 41));
    return start;
  }

  template <class T, class Kernel>
  void expect_fma_matches(Kernel kernel) const {
    const T a = static_cast<T>(0.999), b = static_cast<T>(1.25e-3);
    const auto start = start_values<T>();
    for (const std::int64_t steps : {0, 1, 2, 1001}) {
      std::vector<T> results(start.size());
      kernel(start.data(), results.data(), a, b, steps);
      for (std::size_t i = 0; i < start.size(); ++i)
        ASSERT_EQ(results[i], reference_fma_chain(kernels_.fused, start[i], a, b, steps)) << i;
    }
  }
};

TEST_P(Kernels, FmaMatchesTheReferenceBitForBit) {
  expect_fma_matches<float>(kernels_.fma_fp32);
  expect_fma_matches<double>(kernels_.fma_fp64);
}

// A folded or dropped chain would take no longer for more steps.
TEST_P(Kernels, TimedFmaTakesTwiceAsLongForTwiceTheSteps) {
  const auto start = start_values<float>();
  std::vector<float> results(start.size());
  const auto seconds = [&](std::int64_t steps) {
    const double begin_s = now_s();
    kernels_.fma_fp32(start.data(), results.data(), 0.999f, 1e-3f, steps);
    return now_s() - begin_s;
  };
  constexpr std::int64_t kSteps = 20000;
  // The shortest of many, alternating, so that other work on the machine slows both or neither.
  double once_s = 1e9, twice_s = 1e9;
  for (int i = 0; i < 300; ++i) {
    once_s = std::min(once_s, seconds(kSteps));
    twice_s = std::min(twice_s, seconds(2 * kSteps));
  }
  EXPECT_NEAR(twice_s / once_s, 2, 0.5);
  // No CPU does more than 4 vector FMAs per clock, at 8 GHz.
  EXPECT_LT(static_cast<double>(kSteps) * kernels_.fma_chains / once_s, 4 * 8e9);
}

TEST_P(Kernels, StreamsMatchTheReference) {
  constexpr std::size_t kWords = 40 * kernels::kStreamGranule / sizeof(std::uint64_t);
  constexpr std::uint64_t kUntouched = 0xfedcba9876543210;
  const host::HostBuffer from(kWords * 8), to((kWords + 1) * 8);
  auto* const source = from.as<std::uint64_t>();
  auto* const target = to.as<std::uint64_t>();
  for (std::size_t i = 0; i < kWords; ++i) source[i] = random_word(2, i);
  target[kWords] = kUntouched;
  EXPECT_EQ(kernels_.read_sum(source, kWords),
            std::accumulate(source, source + kWords, std::uint64_t{0}));
  kernels_.copy(target, source, kWords);
  EXPECT_TRUE(std::equal(source, source + kWords, target));
  EXPECT_EQ(target[kWords], kUntouched);

  const host::HostBuffer a(kWords * 8), b(kWords * 8), c(kWords * 8);
  for (std::size_t i = 0; i < kWords; ++i) {
    b.as<double>()[i] = static_cast<double>(i);
    c.as<double>()[i] = static_cast<double>(random_word(3, i) >> 40);
  }
  kernels_.triad(a.as<double>(), b.as<double>(), c.as<double>(), 5, kWords);
  for (std::size_t i = 0; i < kWords; ++i)
    ASSERT_EQ(a.as<double>()[i], b.as<double>()[i] + 5 * c.as<double>()[i]) << i;
}

TEST_P(Kernels, SweepSumsEveryResult) {
  constexpr std::size_t kCount = 24576 / sizeof(float);
  const host::HostBuffer data(kCount * sizeof(float));
  for (std::size_t i = 0; i < kCount; ++i)
    data.as<float>()[i] = 1 + static_cast<float>(random_word(4, i) >> 40) * 0x1p-24f;
  for (const std::int64_t n : {0, 1, 2, 7, 64}) {
    std::uint32_t expected = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      expected += std::bit_cast<std::uint32_t>(
          reference_fma_chain(kernels_.fused, data.as<float>()[i], 0.999f, 1.5e-3f, n));
    EXPECT_EQ(kernels_.sweep_fp32(data.as<float>(), kCount, n, 0.999f, 1.5e-3f), expected) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Kernels, testing::ValuesIn(supported_host_kernels()),
                         [](const auto& kernels) {
                           std::string name(to_string(kernels.param->extension));
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

TEST(HostKernels, TheWidestIsTheOneInTheFacts) {
  EXPECT_EQ(widest_host_kernels().extension, host::widest_vector_extension());
}

TEST(ReferenceFma, RoundsOnceOrTwice) {
  const float x = 1 + 0x1p-12f;
  // x * x = 1 + 2^-11 + 2^-24; the last term does not fit a float.
  EXPECT_EQ(reference_fma_chain(true, x, x, -(1 + 0x1p-11f), 1), 0x1p-24f);
  EXPECT_EQ(reference_fma_chain(false, x, x, -(1 + 0x1p-11f), 1), 0.0f);
}

class HostBenchTest : public testing::Test {
 protected:
  HostBench make(Rule rule) {
    point_ = {.params = {{"threads", std::int64_t{2}}}, .phase = Phase::kHost, .rule = rule};
    return HostBench(benchmark_, point_, options_, cache_);
  }

  const Benchmark benchmark_{
      .id = "host.test", .what = "", .work = "", .quantity = Quantity::kByteRate, .points = {}};
  Point point_;
  RunOptions options_;
  WorkerCache cache_;
};

TEST_F(HostBenchTest, FillsTheRecord) {
  HostBench bench = make(Rule::kCurve);
  const auto half_a_millisecond = [](int) {
    for (const double start_s = now_s(); now_s() < start_s + 0.5e-3;) {
    }
  };
  bench.measure({.bytes_read = 500}, half_a_millisecond, 2);
  const Measurement& record = bench.record();
  ASSERT_TRUE(record.summary && record.value);
  EXPECT_EQ(record.summary->n, 7);
  EXPECT_GE(record.launches_per_sample, 1);
  EXPECT_LE(record.launches_per_sample, 4);
  EXPECT_GE(record.summary->min, 0.5e-3);
  EXPECT_DOUBLE_EQ(*record.value, 500 / record.summary->median);
  EXPECT_EQ(record.unit, "B/s");
  EXPECT_EQ(int_param(record.launch, "threads"), 2);
  EXPECT_EQ(record.conditions.sm_clock_hz, std::nullopt);
}

TEST_F(HostBenchTest, KeepsTheTeamWhileItsSizeStays) {
  HostBench first = make(Rule::kCurve), second = make(Rule::kCurve);
  const host::Team* const team = &first.team(2);
  EXPECT_EQ(&second.team(2), team);
  EXPECT_EQ(second.team(3).size(), 3);
}

TEST_F(HostBenchTest, EveryPointThatUsesAResultSaysHowItWasFound) {
  int searches = 0;
  const auto use = [&](HostBench& bench) {
    bench.note("own", std::int64_t{1});
    bench.remark("own remark");
    return bench.remember<int>("outer", [&] {
      const int inner = bench.remember<int>("inner", [&] {
        ++searches;
        bench.note("candidates", std::int64_t{20});
        bench.remark("footprint shrunk");
        return 6;
      });
      bench.note("candidates", std::int64_t{30});
      return inner + 1;
    });
  };
  for (int point = 0; point < 2; ++point) {
    HostBench bench = make(Rule::kCurve);
    EXPECT_EQ(use(bench), 7);
    EXPECT_EQ(bench.record().launch,
              (LaunchFacts{{"own", std::int64_t{1}}, {"candidates", std::int64_t{30}}}));
    EXPECT_EQ(bench.record().reason, "own remark; footprint shrunk");
  }
  EXPECT_EQ(searches, 1);
}

TEST_F(HostBenchTest, UnderAProfilerEachThreadLaunchesOnce) {
  options_.profile = true;
  HostBench bench = make(Rule::kFull);
  std::atomic<int> launches = 0;
  bench.measure(
      {.bytes_read = 1}, [&](int) { ++launches; }, 2);
  EXPECT_EQ(launches, 2);
  EXPECT_EQ(bench.record().launches_per_sample, 1);
  EXPECT_THAT(bench.record().reason, testing::HasSubstr("under a profiler"));
}

TEST_F(HostBenchTest, ArraysAreLargerThanTheCachesAndDoNotOverlap) {
  HostBench bench = make(Rule::kFull);
  const HostArrays arrays(bench, 2, 2, 4096);
  arrays.describe(bench);
  EXPECT_EQ(arrays.slice_bytes() % 4096, 0u);
  const auto footprint = int_param(bench.record().launch, "footprint_bytes");
  const auto cache = int_param(bench.record().launch, "cache_bytes");
  ASSERT_TRUE(footprint && cache);
  EXPECT_GE(*footprint, 2 * *cache);
  EXPECT_EQ(arrays.slice<char>(0, 1) - arrays.slice<char>(0, 0),
            static_cast<std::ptrdiff_t>(arrays.slice_bytes()));
  EXPECT_GE(std::abs(arrays.slice<char>(1, 0) - arrays.slice<char>(0, 0)),
            static_cast<std::ptrdiff_t>(arrays.array_bytes()));
}

}  // namespace
}  // namespace peakline::bench

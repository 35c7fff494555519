// What the host has and how it is timed: facts, limits, topology, buffers, threads, storage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
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

#include "harness/host/affinity.hpp"
#include "harness/host/facts.hpp"
#include "harness/host/sampler.hpp"
#include "harness/host/storage.hpp"
#include "harness/host/topology.hpp"
#include "harness/values/clock.hpp"

namespace peakline::host {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(HostFacts, AreReadFromFilesOfTheSystem) {
  EXPECT_EQ(parse_os_release(
                "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(parse_os_release("PRETTY_NAME=Alpine"), "Alpine");
  EXPECT_EQ(parse_os_release("PRETTY_NAME='x'"), "x");
  EXPECT_EQ(parse_os_release("NAME=x\n"), "");
  EXPECT_EQ(parse_os_release(""), "");
  EXPECT_EQ(parse_cpu_model("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654\n"),
            "AMD EPYC 9654");
  EXPECT_EQ(parse_cpu_model("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"),
            "ARM implementer 0x41 part 0xd4f");
  EXPECT_EQ(parse_cpu_model("processor\t: 0\n"), "");
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
  // An ancestor limits too.
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
  // In a container only the root is visible.
  const Files root = {{"cpu/cpu.cfs_quota_us", "200000"}, {"cpu/cpu.cfs_period_us", "100000"}};
  EXPECT_EQ(limits("3:cpu:/docker/0123456789\n", root).cpus, 2);
  // Both versions at once.
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
  // Without caches their size is unknown.
  const Topology without = made_up_machine("core:2 pu:1");
  EXPECT_EQ(without.last_level_cache_bytes(std::vector{0, 1}), std::nullopt);
  EXPECT_TRUE(without.caches().empty());
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
  // Without such a node, nothing is bound.
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

constexpr std::size_t kBlock = 64 << 10;

class StorageTest : public testing::Test {
 protected:
  StorageTest() {
    std::string name = (fs::temp_directory_path() / "peakline-test-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~StorageTest() override { fs::remove_all(directory_); }

  static void expect_reads_it(BlockReader& reader, std::uint64_t count) {
    std::multiset<std::uint64_t> seen;
    std::uint64_t wrong = 0;
    reader.read(
        3, count, [](std::uint64_t i) { return i % 8; },
        [&](std::uint64_t block, const std::byte* data) {
          seen.insert(block);
          const auto* const words = reinterpret_cast<const std::uint64_t*>(data);
          for (std::size_t i = 0; i < kBlock / 8; ++i)
            wrong += words[i] != stored_word(block * (kBlock / 8) + i);
        });
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(seen.count(3), (count + 7) / 8);
  }

  fs::path directory_;
};

TEST_F(StorageTest, TheFileHasNoName) {
  const StorageFile file(directory_, kStorageUnit);
  EXPECT_EQ(file.bytes(), kStorageUnit);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(StorageTest, BothReadersReadWhatWasWritten) {
  const StorageFile file(directory_, kStorageUnit);
  for (const int depth : {1, 4, 40}) {
    expect_reads_it(*make_thread_reader(file, kBlock, depth), 33);
    if (const auto uring = make_uring_reader(file, kBlock, depth)) expect_reads_it(*uring, 33);
  }
  const auto cached = file.cached();
  EXPECT_FALSE(cached->direct());
  EXPECT_EQ(cached->bytes(), file.bytes());
  expect_reads_it(*make_thread_reader(*cached, kBlock, 2), 8);
}

TEST_F(StorageTest, ReadingBeyondTheEndIsAnError) {
  const StorageFile file(directory_, kStorageUnit);
  const auto beyond = [](std::uint64_t) { return std::uint64_t{1} << 20; };
  EXPECT_THROW(make_thread_reader(file, kBlock, 2)->read(0, 4, beyond), StorageError);
  if (const auto uring = make_uring_reader(file, kBlock, 2)) {
    EXPECT_THROW(uring->read(0, 4, beyond), StorageError);
  }
}

TEST_F(StorageTest, WhereThereCanBeNoFile) {
  EXPECT_THAT([&] { StorageFile(directory_ / "none", kStorageUnit); },
              ThrowsMessage<StorageError>("no such directory"));
  EXPECT_THAT([&] { StorageFile(directory_, std::size_t{1} << 60); },
              ThrowsMessage<StorageError>(HasSubstr("--storage-size takes less")));
  EXPECT_THROW(StorageFile("/proc/self", kStorageUnit), StorageError);
}

TEST(StorageFacts, SaysWhatIsMounted) {
  const StorageFacts shared = storage_facts("/dev/shm");
  EXPECT_EQ(shared.file_system, "tmpfs");
  EXPECT_THAT(shared.mount_options, HasSubstr("rw"));
  const StorageFacts root = storage_facts("/");
  EXPECT_FALSE(root.file_system.empty());
  EXPECT_EQ(root.path, "/");
}

}  // namespace
}  // namespace peakline::host

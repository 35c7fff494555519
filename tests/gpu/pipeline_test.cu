// Overlapped copies, fused kernels and barriers, against the host, and shapes of the curves.

#include <algorithm>
#include <array>
#include <iostream>

#include "bench/clusters.cuh"
#include "bench/pipeline.hpp"
#include "kernels/fusion.cuh"
#include "kernels/overlap.cuh"
#include "kernels/reference.cuh"
#include "kernels/synchronization.cuh"
#include "tests/gpu/points.hpp"
#include "tests/gpu/support.cuh"
#include "tests/unit/figures.hpp"

namespace peakline {
namespace {

using cuda::DeviceBuffer;

TEST(WorkOnBatch, IsSoManyStepsOfTheGenerator) {
  constexpr kernels::Generator kStep{1664525, 1013904223};
  const auto host = random_words(1003, 5);
  const auto from = on_device(host);
  const DeviceBuffer<std::uint32_t> to(host.size());
  kernels::Generator all{1, 0};
  for (unsigned steps = 0; steps < 40; ++steps, all = kStep.after(all)) {
    kernels::work_on_batch<<<3, 64>>>(from.data(), to.data(), host.size(), steps, kStep);
    const auto found = to.to_host();
    for (std::size_t i = 0; i < host.size(); ++i) {
      std::uint32_t x = host[i];
      for (unsigned step = 0; step < steps; ++step) x = kStep(x);
      ASSERT_EQ(found[i], x) << steps;
      ASSERT_EQ(all(host[i]), x) << steps;
    }
  }
}

template <int kArrays, int kUnroll>
void check_sum() {
  constexpr unsigned kThreads = 64;
  for (const std::size_t vectors : {1u, 64u * kUnroll, 777u}) {
    const std::size_t words = 4 * vectors;
    std::vector<float> host(kArrays * words);
    for (std::size_t i = 0; i < host.size(); ++i)
      host[i] = kernels::unit_interval(static_cast<std::uint32_t>(kernels::random_bits(7, i)));
    const auto data = on_device(host);
    const DeviceBuffer<float> to(words);
    kernels::Arrays<kArrays> from;
    for (int a = 0; a < kArrays; ++a)
      from.data[a] = reinterpret_cast<const float4*>(data.data() + a * words);
    kernels::sum_arrays<kArrays, kUnroll>
        <<<kernels::stream_blocks(vectors, kThreads, kUnroll), kThreads>>>(
            from, reinterpret_cast<float4*>(to.data()), vectors);
    auto found = to.to_host();
    for (std::size_t i = 0; i < words; ++i) {
      float sum = host[i];
      for (int a = 1; a < kArrays; ++a) sum += host[a * words + i];
      ASSERT_EQ(found[i], sum) << kArrays << ' ' << vectors << ' ' << i;
    }
    const auto differences = on_device(std::vector<unsigned long long>{0});
    found.front() += 1;
    found.back() += 1;
    for (const auto& buffer : {on_device(found), on_device(to.to_host())})
      kernels::reference_sum<<<3, 64>>>(buffer.data(), data.data(), kArrays, words,
                                        differences.data());
    EXPECT_EQ(differences.to_host()[0], 2u);
  }
}

TEST(SumOfArrays, IsTheHosts) {
  check_sum<2, 1>();
  check_sum<2, 4>();
  check_sum<5, 2>();
  check_sum<9, 2>();
}

TEST(Meetings, PartnersAreOthersAndEachIsThatOfOne) {
  for (const unsigned members : {32u, 256u, 512u, 33792u}) {
    std::vector<int> chosen(3 * members);
    for (unsigned thread = 0; thread < chosen.size(); ++thread) {
      const unsigned partner = kernels::partner(thread, members);
      EXPECT_NE(partner, thread);
      EXPECT_EQ(partner / members, thread / members);
      ++chosen.at(partner);
    }
    EXPECT_EQ(std::ranges::count(chosen, 1), static_cast<std::ptrdiff_t>(chosen.size()));
  }
}

struct NoBarrier {
  static constexpr int kUnroll = 2;
  static __device__ void publish() {}
  static __device__ void meet() { asm volatile("" ::: "memory"); }
};

// Number of threads of a block that do not end with the expected number.
template <class Barrier>
int strangers() {
  constexpr unsigned kThreads = 1024, kMeetings = 1009;
  const DeviceBuffer<std::uint32_t> board(2 * kThreads), numbers(kThreads);
  const DeviceBuffer<ClockReading> stamps(2);
  PEAKLINE_CUDA(cudaMemset(board.data(), 0, board.size() * sizeof(std::uint32_t)));
  kernels::meetings<Barrier, true>
      <<<1, kThreads>>>(kMeetings, kThreads, board.data(), numbers.data(), stamps.data());
  const auto found = numbers.to_host();
  int count = 0;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    const unsigned from = kernels::partner_after(thread, kThreads, kMeetings);
    count += found[thread] != from + kMeetings;
  }
  return count;
}

TEST(Meetings, WithoutABarrierAreFoundOut) {
  EXPECT_EQ(strangers<kernels::BlockBarrier>(), 0);
  EXPECT_GT(strangers<NoBarrier>(), 0);
}

class Pipelines : public Points {
 protected:
  // Figures of the benchmark's first curve, over all its points.
  FigureValues figures(const std::string& id) {
    const Benchmark& benchmark = *find_benchmark(registry_.benchmarks(), id);
    std::vector<Measurement> points;
    for (const Point& point : benchmark.points)
      if (auto m = measured(point_name(id, point.params))) points.push_back(*std::move(m));
    FigureValues values = figure_values(said_by(benchmark.curves.front(), points, &session_.facts));
    for (const auto& [name, value] : values) std::cout << id << ' ' << name << ' ' << value << '\n';
    return values;
  }
};

TEST_F(Pipelines, LargeCopiesHideBehindAKernelAndSmallOnesLess) {
  auto in = figures("overlap.h2d");
  EXPECT_GT(in["share_of_hidden_rate/memory:pinned/chunk:268435456"], 0.95);
  EXPECT_GT(in["share_of_hidden_rate/memory:pinned/chunk:16777216"], 0.95);
  EXPECT_LT(in["share_of_hidden_rate/memory:pinned/chunk:262144"],
            in["share_of_hidden_rate/memory:pinned/chunk:16777216"]);
  auto both = figures("overlap.h2d_d2h");
  // In a virtual machine, both ways at once reach as little as 0.75 of twice one way.
  EXPECT_GT(both["share_of_hidden_rate/memory:pinned/chunk:268435456"], 0.7);
  for (const auto& found : {in, both})
    for (const auto& [name, share] : found) {
      if (!name.starts_with("share_of_hidden_rate/")) continue;
      EXPECT_GT(share, 0.3) << name;
      // Copies staged by the CPU vary too much from one moment to the next.
      if (name.find("pinned") != name.npos) EXPECT_LT(share, 1.03) << name;
    }
}

TEST_F(Pipelines, AFusedChainSavesWhatItsBytesSay) {
  auto found = figures("fusion.chain");
  double before = 0;
  for (const std::string steps : {"/steps:2", "/steps:4", "/steps:8"}) {
    const double saving = found["saving" + steps];
    EXPECT_NEAR(saving, found["saving_by_bytes" + steps], 0.05) << steps;
    EXPECT_GT(saving, before) << steps;
    before = saving;
  }
}

TEST_F(Pipelines, AGraphSavesSomeLaunchesAndFusionMost) {
  auto found = figures("fusion.small");
  const auto time = [&](const std::string& kernels, const char* bytes) {
    return found.at("time/kernels:" + kernels + "/bytes:" + bytes);
  };
  EXPECT_LT(time("fused", "65536"), time("graph", "65536"));
  EXPECT_LT(time("graph", "65536"), time("separate", "65536"));
  for (const char* kernels : {"fused", "graph", "separate"})
    EXPECT_LT(time(kernels, "65536"), 1.1 * time(kernels, "16777216")) << kernels;
}

TEST_F(Pipelines, EachWayToWaitTakesLongerThanTheCallAlone) {
  auto found = figures("synchronization.wait");
  const double record_s = value("synchronization.event_record");
  for (const auto& [name, seconds] : found) EXPECT_GT(seconds, record_s) << name;
  EXPECT_GT(found["time/by:blocking_event"], found["time/by:event"]);
  EXPECT_GT(found["time/by:read_back"], found["time/by:stream"]);
}

TEST_F(Pipelines, BarriersTakeLongerTheMoreTheyReach) {
  auto of_block = figures("synchronization.block");
  EXPECT_GT(of_block["cycles/threads:1024"], of_block["cycles/threads:256"]);
  EXPECT_GT(of_block["cycles/threads:256"], of_block["cycles/threads:32"]);
  auto of_grid = figures("synchronization.grid");
  EXPECT_GT(of_grid["time"], 2 * of_block["time/threads:256"]);
  auto of_cluster = figures("synchronization.cluster");
  if (of_cluster.empty()) return;
  EXPECT_GT(of_cluster["time/blocks:2"], of_block["time/threads:256"]);
  EXPECT_GT(of_grid["time"], of_cluster["time/blocks:8"]);
  auto relaxed = figures("synchronization.cluster_relaxed");
  for (const char* cycles : {"cycles/blocks:2", "cycles/blocks:8"}) {
    // Without a fence only the threads' wait counts, far less than a trip to the L2.
    EXPECT_LT(relaxed[cycles], 0.5 * of_cluster[cycles]) << cycles;
    EXPECT_GT(relaxed[cycles], of_block["cycles/threads:256"]) << cycles;
  }
}

// Cycles of a meeting of two blocks of a cluster, with stamps written to `stamps`.
double cluster_cycles(ClockReading* stamps) {
  constexpr unsigned kBlocks = 2, kThreads = 256;
  constexpr std::uint64_t kMeetings = 20'000;
  const DeviceBuffer<std::uint32_t> board(2 * kBlocks * kThreads), numbers(kBlocks * kThreads);
  std::array attributes = {bench::clusters_of(kBlocks)};
  const cuda::Stream stream;
  const auto kernel = kernels::meetings<kernels::ClusterBarrier, false, ClockReading>;
  for (int launch = 0; launch < 3; ++launch)  // clocks ramp up
    bench::launch_with(attributes, {kBlocks, kThreads}, stream.get(), kernel, kMeetings,
                       kBlocks * kThreads, board.data(), numbers.data(), stamps);
  stream.synchronize();
  std::array<ClockReading, 2> read;
  PEAKLINE_CUDA(cudaMemcpy(read.data(), stamps, sizeof(read), cudaMemcpyDefault));
  return static_cast<double>(read[1].cycles - read[0].cycles) / kMeetings;
}

// A kernel that has written to host memory pays for it at later fences.
TEST_F(Pipelines, TheClockOfABarrierIsReadFromDeviceMemory) {
  if (session_.facts.compute_major < 9) GTEST_SKIP() << "no clusters";
  const DeviceBuffer<ClockReading> on_the_device(2);
  const cuda::PinnedBuffer<ClockReading> on_the_host(2);
  const double device = cluster_cycles(on_the_device.data());
  const double host = cluster_cycles(on_the_host.data());
  const double found = figures("synchronization.cluster")["cycles/blocks:2"];
  std::cout << "  " << found << " cycles; stamps on the device " << device << ", on the host "
            << host << '\n';
  // If stamps in host memory cost nothing, their place cannot be detected.
  if (host < 1.1 * device) GTEST_SKIP() << "stamps in host memory cost a barrier nothing here";
  EXPECT_LT(found, (device + host) / 2);
}

TEST_F(Pipelines, WhatComesWithHopperIsSkippedBefore) {
  session_.facts.compute_major = 8;
  for (const char* name :
       {"synchronization.cluster/blocks:2", "synchronization.dependent_launch/start:programmatic"})
    EXPECT_FALSE(measured(name)) << name;
  EXPECT_TRUE(measured("synchronization.block/threads:32"));
}

TEST_F(Pipelines, AProgrammaticLaunchStartsTheNextKernelEarlier) {
  auto found = figures("synchronization.dependent_launch");
  if (found.empty()) GTEST_SKIP() << "no programmatic dependent launch";
  EXPECT_LT(found["time/start:programmatic"], found["time/start:ordinary"]);
}

}  // namespace
}  // namespace peakline

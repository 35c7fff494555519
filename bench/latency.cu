// Walks through memory in which each load waits for the one before.

#include <algorithm>
#include <functional>
#include <optional>

#include "bench/clusters.cuh"
#include "bench/latency.hpp"
#include "bench/pcie/host_memory.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "kernels/latency.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using cuda::PinnedBuffer;
using kernels::Cycle;
using kernels::kLineBytes;

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

// Far inside the shared memory of any device.
constexpr std::uint64_t kSharedBytes = 16 * kKiB;
// Shares of the L2: beyond any L1 but inside an SM's near partition, and beyond that partition.
constexpr double kNearL2 = 0.125, kFarL2 = 0.8;
// Beyond the L2, should it cache host memory.
constexpr std::uint64_t kHostBytes = 128 * kMiB;
constexpr double kHostL2s = 2;
// No L1 is larger. A footprint that may fit is walked first: a kernel starts with an empty L1.
constexpr std::uint64_t kMostL1Bytes = kMiB;
// 1 GiB of lines is beyond any cache; larger footprints are sampled by as many lines.
constexpr std::uint64_t kMostSlots = kGiB / kLineBytes;
// Walk before the first load that counts, in multiples of the L2: brings it to its steady state.
constexpr std::uint64_t kTouchedL2s = 2;
// Prime, so that no shorter walk ends where it began.
constexpr std::uint64_t kVerifiedLoads = 1009;
constexpr unsigned kFillThreads = 1024;
// Does not fit the cache, unless only every other line is used.
constexpr double kBeyondCache = 1.75;

// Walks on from where the last launch ended: `warm_up` steps, then `loads` that count.
using Enqueue = std::function<void(cudaStream_t, std::uint64_t* at, std::uint64_t warm_up,
                                   std::uint64_t loads, ClockReading* stamps)>;

// Measures one load of the walk that is at address_of(i) after i steps. With several positions, the
// mean over several SMs that walk at once, each from its own position.
void measure_walk(CudaBench& bench, const std::function<std::uint64_t(std::uint64_t)>& address_of,
                  std::uint64_t warm_up, const Enqueue& enqueue,
                  const std::vector<std::uint64_t>& positions = {0}) {
  const std::size_t walks = positions.size();
  const DeviceBuffer<std::uint64_t> at(walks);
  const DeviceBuffer<ClockReading> stamps(2 * walks);
  const auto launch_of = [&](std::uint64_t loads) -> CudaBench::Launch {
    return [&, loads](cudaStream_t stream) {
      enqueue(stream, at.data(), warm_up, loads, stamps.data());
    };
  };
  std::vector<std::uint64_t> addresses(walks);
  std::ranges::transform(positions, addresses.begin(), address_of);
  at.from_host(addresses);
  bench.verify([&]() -> std::string {
    stamps.from_host(std::vector(2 * walks, ClockReading{}));
    bench.launch_once(launch_of(kVerifiedLoads));
    const std::vector<ClockReading> readings = stamps.to_host();
    const std::vector<std::uint64_t> ends = at.to_host();
    for (std::size_t i = 0; i < walks; ++i) {
      if (ends[i] != address_of(positions[i] + warm_up + kVerifiedLoads))
        return "the walk ended at the wrong slot";
      if (readings[walks + i].nanoseconds <= readings[i].nanoseconds)
        return "the clock was not read";
    }
    return "";
  });
  bench.measure_stamped(launch_of, stamps);
}

template <class Load>
Enqueue chase(unsigned walks = 1) {
  PEAKLINE_CUDA(cudaFuncSetAttribute(kernels::chase<Load, ClockReading>,
                                     cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxL1));
  return [walks](cudaStream_t stream, std::uint64_t* at, std::uint64_t warm_up, std::uint64_t loads,
                 ClockReading* stamps) {
    kernels::chase<Load><<<walks, 1, 0, stream>>>(at, warm_up, loads, stamps);
  };
}

std::function<std::uint64_t(std::uint64_t)> addresses(const char* memory, const Cycle& cycle) {
  return [=](std::uint64_t position) {
    return reinterpret_cast<std::uint64_t>(memory) + cycle.offset(position % cycle.slots);
  };
}

// memory: cycle.bytes() that the device can access.
template <class Load>
void measure_cycle(CudaBench& bench, char* memory, const Cycle& cycle) {
  kernels::fill_cycle<<<kAnyBlocks, kAnyThreads>>>(memory, cycle);
  const auto l2 = static_cast<std::uint64_t>(bench.device().l2_bytes.value_or(0));
  const std::uint64_t touched = std::min(cycle.slots, kTouchedL2s * l2 / kLineBytes);
  kernels::touch_cycle<<<1, 32>>>(memory, cycle, touched);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  measure_walk(bench, addresses(memory, cycle), cycle.bytes() <= kMostL1Bytes ? cycle.slots : 0,
               chase<Load>());
}

template <class Load>
void measure_lines(CudaBench& bench, std::uint64_t bytes) {
  const std::uint64_t slots = std::min(bytes / kLineBytes, kMostSlots);
  const std::uint64_t stride = bytes / slots;
  const DeviceBuffer<char> memory(bench.fitting_memory(bytes, bytes));
  measure_cycle<Load>(bench, memory.data(),
                      {.slots = slots, .stride = stride, .lines = stride / kLineBytes});
}

// Measures strides in a footprint just beyond a cache of this many bytes.
template <class Load>
void stride_latency(CudaBench& bench, std::optional<double> cache_bytes) {
  if (!cache_bytes) throw Skipped("the size of the cache is not known");
  const auto stride = static_cast<std::uint64_t>(bench.integer("stride"));
  const Cycle cycle{.slots = static_cast<std::uint64_t>(kBeyondCache * *cache_bytes) / stride,
                    .stride = stride,
                    .random = bench.text("order") == "random"};
  const DeviceBuffer<char> memory(bench.fitting_memory(cycle.bytes(), cycle.bytes()));
  measure_cycle<Load>(bench, memory.data(), cycle);
}

}  // namespace

void latency_shared(CudaBench& bench) {
  const Cycle cycle{.slots = kSharedBytes / sizeof(std::uint32_t), .stride = sizeof(std::uint32_t)};
  measure_walk(
      bench, [&](std::uint64_t position) { return cycle.offset(position % cycle.slots); }, 0,
      [&](cudaStream_t stream, std::uint64_t* at, std::uint64_t warm_up, std::uint64_t loads,
          ClockReading* stamps) {
        kernels::chase_shared<<<1, kFillThreads, kSharedBytes, stream>>>(at, warm_up, loads, stamps,
                                                                         cycle);
      });
}

void latency_dsmem(CudaBench& bench) {
  const auto size = static_cast<unsigned>(bench.integer("blocks"));
  const Clusters clusters(bench, kernels::chase_cluster<ClockReading>, size, kFillThreads);
  const Cycle cycle{.slots = kSharedBytes / sizeof(std::uint64_t), .stride = sizeof(std::uint64_t)};
  bench.note("blocks", std::int64_t{clusters.blocks()});
  measure_walk(
      bench, [&](std::uint64_t position) { return cycle.offset(position % cycle.slots); }, 0,
      [&](cudaStream_t stream, std::uint64_t* at, std::uint64_t warm_up, std::uint64_t loads,
          ClockReading* stamps) {
        clusters.launch(stream, at, warm_up, loads, stamps, cycle, clusters.size());
      },
      std::vector<std::uint64_t>(clusters.blocks(), 0));
}

void latency_within(CudaBench& bench, std::uint64_t bytes) {
  measure_lines<kernels::GlobalLoad>(bench, bytes);
}

void latency_sweep(CudaBench& bench) {
  latency_within(bench, static_cast<std::uint64_t>(bench.integer("bytes")));
}

// An SM has its near partition of the L2 to itself; a footprint beyond it also uses the far one.
void latency_l2(CudaBench& bench) {
  const auto& l2 = bench.device().l2_bytes;
  if (!l2) throw Skipped("the size of the L2 is not known");
  const bool near = bench.text("part") == "near";
  const auto lines = static_cast<std::uint64_t>((near ? kNearL2 : kFarL2) * *l2) / kLineBytes;
  measure_lines<kernels::L2Load>(bench, lines * kLineBytes);
}

void latency_pcie(CudaBench& bench) {
  const auto near = bind_near(bench);
  const std::uint64_t bytes = bench.beyond_l2(kHostBytes, kHostL2s);
  const PinnedBuffer<char> memory(bytes);
  measure_cycle<kernels::GlobalLoad>(bench, memory.data(),
                                     {.slots = bytes / kLineBytes, .stride = kLineBytes});
}

// L1 and shared memory are one memory.
void latency_stride_past_l1(CudaBench& bench) {
  stride_latency<kernels::GlobalLoad>(bench, bench.device().shared_per_sm_bytes);
}

void latency_stride_past_l2(CudaBench& bench) {
  stride_latency<kernels::L2Load>(bench, bench.device().l2_bytes);
}

void measure_peer_latency(CudaBench& bench, char* memory, std::uint64_t lines) {
  // Enough loads for an SM to have set up its path there.
  constexpr std::uint64_t kWarmUp = 16;
  const Cycle cycle{.slots = lines, .stride = kLineBytes};
  kernels::fill_cycle<<<kAnyBlocks, kAnyThreads>>>(memory, cycle);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  std::vector<std::uint64_t> positions(bench.sm_count());
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = i * cycle.slots / positions.size();
  measure_walk(bench, addresses(memory, cycle), kWarmUp, chase<kernels::L2Load>(bench.sm_count()),
               positions);
}

}  // namespace peakline::bench

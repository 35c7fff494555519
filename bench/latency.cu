// How long does one load take? At each level of the memory, by footprint and from the host.

#include <algorithm>
#include <array>

#include "bench/clusters.cuh"
#include "bench/latency.hpp"
#include "bench/pcie/host_memory.hpp"
#include "bench/pipeline.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/conclude/latency.hpp"
#include "harness/conclude/limits.hpp"
#include "kernels/latency.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using cuda::PinnedBuffer;
using kernels::Cycle;
using kernels::kLineBytes;

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

// Far inside the shared memory and the L1 of any device.
constexpr std::uint64_t kSharedBytes = 16 * kKiB, kL1Bytes = 16 * kKiB;
// One share of the L2 is far beyond any L1 but inside a part near to an SM; the other exceeds that.
constexpr double kNearL2 = 0.125, kFarL2 = 0.8;
// Many times any L2, of which a walk that visits each line once finds nothing.
constexpr std::uint64_t kHbmBytes = kGiB;
// Beyond any L2, should it hold host memory.
constexpr std::uint64_t kHostBytes = 128 * kMiB;
// No L1 is larger. What may be in one is walked through before the loads that count, since an L1 is
// empty when a kernel starts.
constexpr std::uint64_t kMostL1Bytes = kMiB;
// A walk through 1 GiB of lines is beyond any cache; larger footprints are covered by as many
// lines.
constexpr std::uint64_t kMostSlots = kGiB / kLineBytes;
// The walk before the first load that counts, in multiples of the L2, so that it holds what it
// would hold after going round for ever.
constexpr std::uint64_t kTouchedL2s = 2;
// Prime, so that no walk of fewer slots ends where it began.
constexpr std::uint64_t kVerifiedLoads = 1009;
constexpr unsigned kFillThreads = 1024;
constexpr std::int64_t kMostStride = 512;
// A footprint this many times the cache does not fit, except where only every other line is used.
constexpr double kBeyondCache = 1.75;

// Every walk goes on from where the last launch left it: `warm_up` steps and then `loads` that
// count.
using Enqueue = std::function<void(cudaStream_t, std::uint64_t* at, std::uint64_t warm_up,
                                   std::uint64_t loads, ClockReading* stamps)>;

// Measures one load of the walk that is at address_of(i) after i steps, or the mean of one load on
// each of several SMs at once, which begin at these positions of the walk.
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

// memory: cycle.bytes() that the device can reach.
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

void shared_latency(CudaBench& bench) {
  const Cycle cycle{.slots = kSharedBytes / sizeof(std::uint32_t), .stride = sizeof(std::uint32_t)};
  measure_walk(
      bench, [&](std::uint64_t position) { return cycle.offset(position % cycle.slots); }, 0,
      [&](cudaStream_t stream, std::uint64_t* at, std::uint64_t warm_up, std::uint64_t loads,
          ClockReading* stamps) {
        kernels::chase_shared<<<1, kFillThreads, kSharedBytes, stream>>>(at, warm_up, loads, stamps,
                                                                         cycle);
      });
}

void cluster_latency(CudaBench& bench) {
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

// An SM has the part of the L2 that is near to it to itself; what that does not hold is in the
// other, if the whole L2 holds it.
void l2_latency(CudaBench& bench) {
  const auto& l2 = bench.device().l2_bytes;
  if (!l2) throw Skipped("the size of the L2 is not known");
  const bool near = bench.text("part") == "near";
  const auto lines = static_cast<std::uint64_t>((near ? kNearL2 : kFarL2) * *l2) / kLineBytes;
  measure_lines<kernels::L2Load>(bench, lines * kLineBytes);
}

// Measures with loads that a cache of this many bytes serves.
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

void host_latency(CudaBench& bench) {
  const auto near = bind_near(bench);
  const PinnedBuffer<char> memory(kHostBytes);
  measure_cycle<kernels::GlobalLoad>(bench, memory.data(),
                                     {.slots = kHostBytes / kLineBytes, .stride = kLineBytes});
}

// Footprints of the sweep: closer where caches end.
std::vector<std::uint64_t> footprints() {
  struct Range {
    std::uint64_t from, to;
    int an_octave;
  };
  constexpr std::array<Range, 6> kRanges{{{kKiB, 64 * kKiB, 1},
                                          {64 * kKiB, 512 * kKiB, 4},
                                          {512 * kKiB, 8 * kMiB, 1},
                                          {8 * kMiB, 256 * kMiB, 4},
                                          {256 * kMiB, kGiB, 1},
                                          {kGiB, 128 * kGiB, 2}}};
  std::vector<std::uint64_t> all;
  for (const Range& range : kRanges)
    for (std::uint64_t octave = range.from; octave < range.to; octave *= 2)
      for (int i = 0; i < range.an_octave; ++i)
        all.push_back(octave + octave / range.an_octave * i);
  all.push_back(kRanges.back().to);
  return all;
}

Point point(Params params, Phase phase, Rule rule, bool quick = false) {
  return {.params = std::move(params),
          .phase = phase,
          .rule = rule,
          .quick = quick,
          .seconds = rule == Rule::kFull ? 0.4 : 0.03};
}

}  // namespace

void measure_peer_latency(CudaBench& bench, char* memory, std::uint64_t lines) {
  // Enough for an SM to have found the way there.
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

void register_latency(Registry& registry) {
  const Limit none = no_limit("a time has no upper limit");
  constexpr const char* kWork = "seconds of one load, each of which waits for the one before";
  const auto add = [&](const char* id, const char* what, Loads loads, std::vector<CurveRule> curves,
                       std::vector<Point> points, void (*run)(CudaBench&)) {
    registry.add({.id = id,
                  .what = what,
                  .work = kWork,
                  .quantity = Quantity::kTime,
                  .loads = loads,
                  .limit = none,
                  .curves = std::move(curves),
                  .points = std::move(points)},
                 run);
  };
  const auto one = [](Phase phase, bool quick = false) {
    return std::vector{point({}, phase, Rule::kFull, quick)};
  };
  add("latency.shared", "Latency of shared memory", Loads::kMemory,
      {latency_curve("shared", "shared")}, one(Phase::kDevice), shared_latency);
  std::vector<Point> clusters;
  for (const std::int64_t blocks : {2, 4, 8, 16})
    clusters.push_back(point({{"blocks", blocks}}, Phase::kDevice, Rule::kCurve));
  add("latency.dsmem", "Latency of the next block's shared memory, by blocks in a cluster",
      Loads::kMemory,
      {waits_curve("another block's shared memory in a cluster of", "dsmem", "blocks",
                   kMemoryLatency)},
      std::move(clusters), cluster_latency);
  add("latency.l1", "Latency of the L1 cache", Loads::kMemory, {latency_curve("L1", "l1")},
      one(Phase::kDevice),
      [](CudaBench& bench) { measure_lines<kernels::GlobalLoad>(bench, kL1Bytes); });
  std::vector<Point> parts;
  for (const char* part : {"near", "far"})
    parts.push_back(point({{"part", part}}, Phase::kDevice, Rule::kFull));
  add("latency.l2", "Latency of the L2 cache: the part near to an SM, and what lies beyond it",
      Loads::kMemory, {latency_curve("L2", "l2")}, std::move(parts), l2_latency);
  add("latency.hbm", "Latency of device memory, within 1 GiB", Loads::kMemory,
      {latency_curve("HBM", "hbm")}, one(Phase::kDevice),
      [](CudaBench& bench) { measure_lines<kernels::GlobalLoad>(bench, kHbmBytes); });
  add("latency.pcie", "Latency of host memory, read by the device over the link", Loads::kLink,
      {latency_curve("host memory", "host")}, one(Phase::kLink), host_latency);
  std::vector<Point> sweep;
  for (const std::uint64_t bytes : footprints())
    sweep.push_back(
        point({{"bytes", static_cast<std::int64_t>(bytes)}}, Phase::kDevice, Rule::kCurve));
  add("latency.sweep", "Latency of lines in random order, by footprint", Loads::kMemory,
      {latency_steps_curve()}, std::move(sweep), [](CudaBench& bench) {
        measure_lines<kernels::GlobalLoad>(bench,
                                           static_cast<std::uint64_t>(bench.integer("bytes")));
      });
  const auto strides = [](std::vector<const char*> orders, std::int64_t least) {
    std::vector<Point> points;
    for (const char* order : orders)
      for (std::int64_t stride = kMostStride; stride >= least; stride /= 2)
        points.push_back(
            point({{"order", order}, {"stride", stride}}, Phase::kDevice, Rule::kCurve));
    return points;
  };
  // The L1 and the shared memory of an SM are one memory.
  add("latency.stride", "Latency in a footprint beyond the L1, by stride and order", Loads::kMemory,
      {line_size_curve("L1", "l1")}, strides({"random", "sequential"}, 8), [](CudaBench& bench) {
        stride_latency<kernels::GlobalLoad>(bench, bench.device().shared_per_sm_bytes);
      });
  // In order of address the device memory's granularity would show, which alignment.* measures.
  add("latency.stride.l2", "Latency in a footprint beyond the L2, by stride", Loads::kMemory,
      {line_size_curve("L2", "l2")}, strides({"random"}, 32),
      [](CudaBench& bench) { stride_latency<kernels::L2Load>(bench, bench.device().l2_bytes); });
}

}  // namespace peakline::bench

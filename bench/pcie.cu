// How fast does data move between host and device? By size, direction and kind of host memory.

#include <cstring>
#include <memory>

#include "bench/catalog.hpp"
#include "bench/pcie.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/core/curves.hpp"
#include "harness/core/limits.hpp"
#include "harness/core/statistics.hpp"
#include "harness/host/affinity.hpp"
#include "harness/host/topology.hpp"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using cuda::PinnedBuffer;

constexpr std::size_t kSmallest = 4 << 10, kLargest = std::size_t{1} << 30;
// Larger ones, a quarter of a second each, show no more.
constexpr std::size_t kLargestPageable = std::size_t{256} << 20;
// Copies of at least this size are candidates for the ceiling.
constexpr auto kCeilingBytes = static_cast<std::size_t>(kCeilingCopyBytes);
// The largest copy of --quick, kept small because page-locking is slow.
constexpr std::size_t kLargestQuick = kCeilingBytes;
// The link's state is read while data moves, so the copies must last long enough.
constexpr std::size_t kLinkWatchBytes = std::size_t{64} << 20;

enum class Direction { kToDevice, kToHost };

cudaMemcpyKind kind_of(Direction direction) {
  return direction == Direction::kToDevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
}

CudaBench::Launch copy_launch(Direction direction, std::uint32_t* host_data,
                              std::uint32_t* device_data, std::size_t bytes) {
  const bool to_device = direction == Direction::kToDevice;
  return [=](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemcpyAsync(to_device ? device_data : host_data,
                                  to_device ? host_data : device_data, bytes, kind_of(direction),
                                  stream));
  };
}

// Total seconds of one copy in each direction with the thread and its pinned memory on the node.
double copy_s_at_node(CudaBench& bench, int node) {
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  constexpr std::size_t kSamples = 5;
  const host::NodeBinding binding(node);
  const PinnedBuffer<std::uint32_t> host_data(kBytes / sizeof(std::uint32_t));
  std::memset(host_data.data(), 1, kBytes);
  const DeviceBuffer<std::uint32_t> device_data(host_data.size());
  double copy_s = 0;
  for (const Direction direction : {Direction::kToDevice, Direction::kToHost}) {
    const auto launch = copy_launch(direction, host_data.data(), device_data.data(), kBytes);
    bench.time_roughly(launch);
    copy_s += median(bench.sampler().time_batches(launch, 1, kSamples).launch_s);
  }
  return copy_s;
}

}  // namespace

host::NodeBinding bind_near(CudaBench& bench) {
  const auto& choice = bench.remember<host::NodeChoice>("pcie.node", [&] {
    std::vector<int> nodes;
    for (const NumaNodeFacts& node : host::Topology::usable().numa_nodes())
      nodes.push_back(node.index);
    const auto chosen = host::choose_node(bench.device().numa_node, nodes,
                                          [&](int node) { return copy_s_at_node(bench, node); });
    if (host::NodeBinding(chosen.node).cpus_bound())
      bench.note("numa_node", std::int64_t{*chosen.node});
    if (chosen.tried)
      bench.remark("the device reports no NUMA node: bound to the node with the fastest copies");
    return chosen;
  });
  return host::NodeBinding(choice.node);
}

namespace {

std::size_t largest(const CudaBench& bench) {
  return bench.options().quick ? kLargestQuick : kLargest;
}

// Allocated once per worker: page-locking a gigabyte takes longer than measuring it.
std::uint32_t* pinned_memory(CudaBench& bench, const char* use) {
  using Shared = std::shared_ptr<PinnedBuffer<std::uint32_t>>;
  return bench
      .remember<Shared>(std::string("pcie.pinned.") + use,
                        [&] {
                          const auto near = bind_near(bench);
                          auto buffer = std::make_shared<PinnedBuffer<std::uint32_t>>(
                              largest(bench) / sizeof(std::uint32_t));
                          std::memset(buffer->data(), 1, largest(bench));
                          return buffer;
                        })
      ->data();
}

std::uint32_t* pageable_memory(CudaBench& bench) {
  using Shared = std::shared_ptr<host::HostBuffer>;
  return static_cast<std::uint32_t*>(
      bench
          .remember<Shared>("pcie.pageable",
                            [&] {
                              const auto near = bind_near(bench);
                              auto buffer = std::make_shared<host::HostBuffer>(kLargestPageable);
                              std::memset(buffer->data(), 1, kLargestPageable);
                              return buffer;
                            })
          ->data());
}

// Fills the source with random words, copies, and compares the destination.
std::string find_mismatch(Direction direction, std::uint32_t* host_data,
                          const DeviceBuffer<std::uint32_t>& device_data, std::size_t words,
                          std::uint64_t seed, const std::function<void()>& copy) {
  const auto expected = [&](std::size_t i) {
    return static_cast<std::uint32_t>(kernels::random_bits(seed, i));
  };
  if (direction == Direction::kToDevice) {
    for (std::size_t i = 0; i < words; ++i) host_data[i] = expected(i);
    PEAKLINE_CUDA(cudaMemset(device_data.data(), 0, words * sizeof(std::uint32_t)));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    copy();
    const auto source = random_words(words, seed);
    return count_differences("copy", [&](unsigned long long* differences) {
      kernels::reference_compare<<<kAnyBlocks, kAnyThreads>>>(source.data(), device_data.data(),
                                                              words, differences);
    });
  }
  kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(device_data.data(), words, seed);
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  std::memset(host_data, 0, words * sizeof(std::uint32_t));
  copy();
  for (std::size_t i = 0; i < words; ++i)
    if (host_data[i] != expected(i)) return "copy: word " + std::to_string(i) + " differs";
  return "";
}

// Verifying a gigabyte on the host takes seconds, so only this much from the start of larger copies
// is verified; smaller ones are verified in full.
constexpr std::size_t kVerifiedWords = std::size_t{1} << 20;

void pinned_copy(CudaBench& bench, Direction direction) {
  const std::size_t bytes =
      bench.fit_memory(static_cast<std::size_t>(bench.integer("bytes")), 4096);
  const auto near = bind_near(bench);
  std::uint32_t* const host_data = pinned_memory(bench, "one");
  const DeviceBuffer<std::uint32_t> device_data(bytes / sizeof(std::uint32_t));
  auto launch = copy_launch(direction, host_data, device_data.data(), bytes);
  launch.over_pcie = bytes >= kLinkWatchBytes;
  bench.verify([&] {
    return find_mismatch(direction, host_data, device_data,
                         std::min(device_data.size(), kVerifiedWords), bench.seed(),
                         [&] { bench.launch_once(launch); });
  });
  bench.measure({.bytes_read = static_cast<double>(bytes)}, launch);
}

void pageable_copy(CudaBench& bench, Direction direction) {
  const std::size_t bytes =
      bench.fit_memory(static_cast<std::size_t>(bench.integer("bytes")), 4096);
  const auto near = bind_near(bench);
  std::uint32_t* const host_data = pageable_memory(bench);
  const DeviceBuffer<std::uint32_t> device_data(bytes / sizeof(std::uint32_t));
  // The driver stages pageable memory through its own pinned buffers with the CPU's help, and a
  // copy to the device may return before the last part has arrived. So the host's clock times the
  // copy plus a wait.
  const auto launch = copy_launch(direction, host_data, device_data.data(), bytes);
  const auto copy = [&] {
    launch(bench.stream());
    PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream()));
  };
  bench.verify([&] {
    return find_mismatch(direction, host_data, device_data,
                         std::min(device_data.size(), kVerifiedWords), bench.seed(), copy);
  });
  bench.measure_on_host({.bytes_read = static_cast<double>(bytes)}, copy);
}

// Both directions at once, each on its own stream; timed until the slower one ends.
void bidirectional_copy(CudaBench& bench) {
  // Fewest bytes per launch and direction; with less, forking and joining the streams would show.
  constexpr std::size_t kLeastPerLaunch = std::size_t{64} << 20;
  constexpr std::size_t kMostCopies = 64;
  const std::size_t bytes =
      bench.fit_memory(2 * static_cast<std::size_t>(bench.integer("bytes")), 8192) / 2;
  const auto near = bind_near(bench);
  std::uint32_t* const host_out = pinned_memory(bench, "one");
  std::uint32_t* const host_in = pinned_memory(bench, "other");
  const DeviceBuffer<std::uint32_t> device_in(bytes / 4), device_out(bytes / 4);
  const std::size_t copies = std::clamp<std::size_t>(kLeastPerLaunch / bytes, 1, kMostCopies);
  const cuda::Stream back;
  const cuda::Event fork(cudaEventDisableTiming), join(cudaEventDisableTiming);
  const auto enqueue = [&](cudaStream_t stream) {
    fork.record(stream);
    PEAKLINE_CUDA(cudaStreamWaitEvent(back.get(), fork.get()));
    for (std::size_t i = 0; i < copies; ++i) {
      PEAKLINE_CUDA(
          cudaMemcpyAsync(device_in.data(), host_out, bytes, cudaMemcpyHostToDevice, stream));
      PEAKLINE_CUDA(
          cudaMemcpyAsync(host_in, device_out.data(), bytes, cudaMemcpyDeviceToHost, back.get()));
    }
    join.record(back.get());
    PEAKLINE_CUDA(cudaStreamWaitEvent(stream, join.get()));
  };
  constexpr std::int64_t kForkAndJoin = 4;
  const CudaBench::Launch launch(
      enqueue, {.operations = 2 * static_cast<std::int64_t>(copies) + kForkAndJoin});
  bench.verify([&] {
    const std::size_t words = std::min(device_in.size(), kVerifiedWords);
    const auto copy = [&] { bench.launch_once(launch); };
    std::string wrong =
        find_mismatch(Direction::kToDevice, host_out, device_in, words, bench.seed(), copy);
    return wrong.empty() ? find_mismatch(Direction::kToHost, host_in, device_out, words,
                                         bench.seed() + 1, copy)
                         : wrong;
  });
  bench.note("copies_per_launch", static_cast<std::int64_t>(copies));
  const double moved = static_cast<double>(bytes) * static_cast<double>(copies);
  bench.measure({.bytes_read = moved, .bytes_written = moved}, launch);
}

std::vector<Point> size_points(bool pinned) {
  std::vector<Point> points;
  for (std::size_t bytes = kSmallest; bytes <= (pinned ? kLargest : kLargestPageable); bytes *= 4) {
    const bool ceiling = pinned && bytes >= kCeilingBytes;
    points.push_back({.params = {{"bytes", static_cast<std::int64_t>(bytes)}},
                      .phase = Phase::kLink,
                      .rule = ceiling ? Rule::kFull : Rule::kCurve,
                      .quick = bytes == kSmallest || (bytes == kCeilingBytes && pinned) ||
                               (bytes == kLinkWatchBytes && !pinned),
                      .seconds = ceiling                     ? 0.5
                                 : bytes == kLargestPageable ? 0.3
                                                             : 0.1});
  }
  return points;
}

// Whatever else uses the host's memory, other guests of a virtual machine's host above all, slows
// copies for seconds or minutes and never speeds them up.
constexpr Estimate kPinnedEstimate = Estimate::kFastestTenth;
constexpr int kPinnedMethod = 2;  // 1: the median

std::vector<CeilingRule> ceiling(std::string_view name) {
  return {{.resource = resource(name), .counts = at_least("bytes", kCeilingCopyBytes)}};
}

}  // namespace

void register_pcie(Registry& registry) {
  constexpr const char* kTopic = "PCIe copies";
  // Pageable copies are staged by the CPU, so their rate says little about the link: no ceiling.
  const auto add = [&](const char* id, const char* what, std::vector<CeilingRule> ceilings,
                       CurveRule curve, Run run) {
    const bool pinned = !ceilings.empty();
    registry.add({.id = id,
                  .what = what,
                  .work = "bytes over the link, counted once",
                  .quantity = Quantity::kByteRate,
                  .method_version = pinned ? kPinnedMethod : 1,
                  .loads = Loads::kLink,
                  .estimate = pinned ? kPinnedEstimate : Estimate::kMedian,
                  .limit = pcie_link(1),
                  .ceilings = std::move(ceilings),
                  .curves = {std::move(curve)},
                  .points = size_points(pinned)},
                 std::move(run));
  };
  add("pcie.h2d.pinned", "Copy bandwidth from pinned host memory to the device, by size",
      ceiling("pcie.h2d"), rate_over_size_curve(kTopic, "to device", "h2d"),
      [](CudaBench& bench) { pinned_copy(bench, Direction::kToDevice); });
  add("pcie.d2h.pinned", "Copy bandwidth from the device to pinned host memory, by size",
      ceiling("pcie.d2h"), rate_over_size_curve(kTopic, "to host", "d2h"),
      [](CudaBench& bench) { pinned_copy(bench, Direction::kToHost); });
  add("pcie.h2d.pageable", "Copy bandwidth from pageable host memory to the device, by size", {},
      largest_size_curve(kTopic, "pageable to device", "h2d_pageable_bytes_per_s"),
      [](CudaBench& bench) { pageable_copy(bench, Direction::kToDevice); });
  add("pcie.d2h.pageable", "Copy bandwidth from the device to pageable host memory, by size", {},
      largest_size_curve(kTopic, "pageable to host", "d2h_pageable_bytes_per_s"),
      [](CudaBench& bench) { pageable_copy(bench, Direction::kToHost); });
  registry.add({.id = "pcie.bidirectional.pinned",
                .what = "Copy bandwidth in both directions at once, pinned host memory, by size",
                .work = "bytes of both directions, timed until both are done",
                .quantity = Quantity::kByteRate,
                .method_version = kPinnedMethod,
                .loads = Loads::kLink,
                .estimate = kPinnedEstimate,
                .limit = pcie_link(2),
                .ceilings = ceiling("pcie.bidirectional"),
                .points = size_points(true)},
               bidirectional_copy);
}

}  // namespace peakline::bench

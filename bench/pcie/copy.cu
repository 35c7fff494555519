// How fast does data move between host and device? By size, direction and kind of host memory.

#include <future>

#include "bench/copies.hpp"
#include "bench/pcie/host_memory.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/host/topology.hpp"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace {

using namespace pcie;
using cuda::DeviceBuffer;
using cuda::PinnedBuffer;

constexpr std::size_t kSmallest = 4 << 10;
// Copies of at least this size are candidates for the ceiling.
constexpr auto kCeilingBytes = static_cast<std::size_t>(kCeilingCopyBytes);
// The link's state is read while data moves, so the copies must last long enough.
constexpr std::size_t kLinkWatchBytes = std::size_t{64} << 20;
constexpr std::int64_t kPiecesBytes = 16 << 20;

void locked_copy(CudaBench& bench, Memory memory, Direction direction) {
  const std::size_t bytes =
      bench.fit_memory(static_cast<std::size_t>(bench.integer("bytes")), 4096);
  const auto near = bind_near(bench);
  std::uint32_t* const host_data = locked_memory(bench, memory, "one");
  const DeviceBuffer<std::uint32_t> device_data(bytes / sizeof(std::uint32_t));
  auto launch = copy_launch(direction, host_data, device_data.data(), bytes, memory);
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
  std::uint32_t* const host_data = pageable_memory(bench, "one");
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
void bidirectional_copy(CudaBench& bench, Memory memory) {
  // Fewest bytes per launch and direction; with less, forking and joining the streams would show.
  constexpr std::size_t kLeastPerLaunch = std::size_t{64} << 20;
  constexpr std::size_t kMostCopies = 64;
  const std::size_t bytes =
      bench.fit_memory(2 * static_cast<std::size_t>(bench.integer("bytes")), 8192) / 2;
  const auto near = bind_near(bench);
  std::uint32_t* const host_out = locked_memory(bench, memory, "one");
  std::uint32_t* const host_in = locked_memory(bench, memory, "other");
  const DeviceBuffer<std::uint32_t> device_in(bytes / 4), device_out(bytes / 4);
  const auto there = copy_launch(Direction::kToDevice, host_out, device_in.data(), bytes, memory);
  const auto home = copy_launch(Direction::kToHost, host_in, device_out.data(), bytes, memory);
  const std::size_t copies = std::clamp<std::size_t>(kLeastPerLaunch / bytes, 1, kMostCopies);
  const cuda::Stream back;
  const cuda::Event fork(cudaEventDisableTiming), join(cudaEventDisableTiming);
  const auto enqueue = [&](cudaStream_t stream) {
    fork.record(stream);
    PEAKLINE_CUDA(cudaStreamWaitEvent(back.get(), fork.get()));
    for (std::size_t i = 0; i < copies; ++i) {
      there(stream);
      home(back.get());
    }
    join.record(back.get());
    PEAKLINE_CUDA(cudaStreamWaitEvent(stream, join.get()));
  };
  constexpr std::int64_t kForkAndJoin = 4;
  const CudaBench::Launch launch(
      enqueue, {.operations = 2 * static_cast<std::int64_t>(copies) + kForkAndJoin});
  bench.verify([&] {
    return find_mismatch_both_ways(host_out, device_in, host_in, device_out, bench.seed(),
                                   [&] { bench.launch_once(launch); });
  });
  bench.note("copies_per_launch", static_cast<std::int64_t>(copies));
  const double moved = static_cast<double>(bytes) * static_cast<double>(copies);
  bench.measure({.bytes_read = moved, .bytes_written = moved}, launch);
}

// One kernel copies both ways, since the blocks of a second one would wait for those of the first.
void bidirectional_mapped(CudaBench& bench) {
  constexpr int kUnroll = 4;
  constexpr unsigned kThreads = 256;
  const auto bytes = static_cast<std::size_t>(bench.integer("bytes"));
  const auto near = bind_near(bench);
  std::uint32_t* const host_out = locked_memory(bench, Memory::kMapped, "one");
  std::uint32_t* const host_in = locked_memory(bench, Memory::kMapped, "other");
  const DeviceBuffer<std::uint32_t> device_in(bytes / 4), device_out(bytes / 4);
  const auto between = [](const std::uint32_t* from, std::uint32_t* to) {
    return kernels::CopiedBetween<uint4>{reinterpret_cast<const uint4*>(from),
                                         reinterpret_cast<uint4*>(to)};
  };
  const std::size_t count = bytes / sizeof(uint4);
  const auto launch = [&](cudaStream_t stream) {
    kernels::stream_copy_both<uint4, kUnroll>
        <<<2 * kernels::stream_blocks(count, kThreads, kUnroll), kThreads, 0, stream>>>(
            between(host_out, device_in.data()), between(device_out.data(), host_in), count);
  };
  bench.verify([&] {
    return find_mismatch_both_ways(host_out, device_in, host_in, device_out, bench.seed(),
                                   [&] { bench.launch_once(launch); });
  });
  const auto moved = static_cast<double>(bytes);
  bench.measure({.bytes_read = moved, .bytes_written = moved}, launch);
}

// The driver stages both directions in the calling thread, so each has one of its own.
void bidirectional_pageable(CudaBench& bench) {
  const auto bytes = static_cast<std::size_t>(bench.integer("bytes"));
  const auto near = bind_near(bench);  // of the threads too, which inherit it
  std::uint32_t* const host_out = pageable_memory(bench, "one");
  std::uint32_t* const host_in = pageable_memory(bench, "other");
  const DeviceBuffer<std::uint32_t> device_in(bytes / 4), device_out(bytes / 4);
  const cuda::Stream back;
  const auto copy = [&] {
    const auto whole = [](const CudaBench::Launch& launch, cudaStream_t stream) {
      launch(stream);
      PEAKLINE_CUDA(cudaStreamSynchronize(stream));
    };
    auto home =
        std::async(std::launch::async, whole,
                   copy_launch(Direction::kToHost, host_in, device_out.data(), bytes), back.get());
    whole(copy_launch(Direction::kToDevice, host_out, device_in.data(), bytes), bench.stream());
    home.get();
  };
  bench.verify([&] {
    return find_mismatch_both_ways(host_out, device_in, host_in, device_out, bench.seed(), copy);
  });
  const auto moved = static_cast<double>(bytes);
  bench.measure_on_host({.bytes_read = moved, .bytes_written = moved}, copy);
}

// kPiecesBytes in so many copies, from the first call until the last copy has arrived.
void copy_in_pieces(CudaBench& bench) {
  const auto piece = static_cast<std::size_t>(bench.integer("piece"));
  const auto near = bind_near(bench);
  std::uint32_t* const host_data = locked_memory(bench, Memory::kPinned, "one");
  const DeviceBuffer<std::uint32_t> device_data(kPiecesBytes / sizeof(std::uint32_t));
  const std::size_t words = piece / sizeof(std::uint32_t);
  const auto copy = [&] {
    for (std::size_t at = 0; at < device_data.size(); at += words)
      copy_launch(Direction::kToDevice, host_data + at, device_data.data() + at,
                  piece)(bench.stream());
    PEAKLINE_CUDA(cudaStreamSynchronize(bench.stream()));
  };
  bench.verify([&] {
    return find_mismatch(Direction::kToDevice, host_data, device_data, device_data.size(),
                         bench.seed(), copy);
  });
  bench.measure_on_host({.bytes_read = static_cast<double>(kPiecesBytes)}, copy);
}

// Thread and pinned memory on a node of the machine, be it near to the device or not.
void copy_at_node(CudaBench& bench) {
  if (host::Topology::usable().numa_nodes().size() < 2)
    throw Skipped("the machine has a single NUMA node");
  const Direction direction =
      bench.text("direction") == "h2d" ? Direction::kToDevice : Direction::kToHost;
  const host::NodeBinding binding(static_cast<int>(bench.integer("node")));
  if (!binding.memory_bound()) throw Skipped("memory cannot be bound to a NUMA node here");
  const PinnedBuffer<std::uint32_t> host_data(kComparedBytes / sizeof(std::uint32_t));
  const DeviceBuffer<std::uint32_t> device_data(host_data.size());
  const auto launch = copy_launch(direction, host_data.data(), device_data.data(), kComparedBytes);
  bench.verify([&] {
    return find_mismatch(direction, host_data.data(), device_data, kVerifiedWords, bench.seed(),
                         [&] { bench.launch_once(launch); });
  });
  bench.measure({.bytes_read = static_cast<double>(kComparedBytes)}, launch);
}

std::vector<Point> node_points() {
  std::vector<std::int64_t> nodes;
  for (const NumaNodeFacts& node : host::Topology::usable().numa_nodes())
    nodes.push_back(node.index);
  std::vector<Point> points;
  if (nodes.size() < 2) nodes.assign(1, 0);
  for (const std::int64_t node : nodes)
    for (const char* direction : {"h2d", "d2h"})
      if (nodes.size() > 1 || points.empty())
        points.push_back({.params = {{"node", node}, {"direction", std::string(direction)}},
                          .phase = Phase::kLink,
                          .seconds = 0.2});
  return points;
}

std::vector<Point> curve_points(const char* param, std::initializer_list<std::int64_t> values) {
  std::vector<Point> points;
  for (const std::int64_t value : values)
    points.push_back({.params = {{param, value}}, .phase = Phase::kLink, .seconds = 0.15});
  return points;
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
  const auto add = [&](std::string id, const char* what, int directions,
                       std::vector<CeilingRule> ceilings, CurveRule curve,
                       std::vector<Point> points, void (*run)(CudaBench&),
                       VariesWith varies = VariesWith::kLaunches) {
    const bool pinned = !ceilings.empty();
    registry.add(
        {.id = std::move(id),
         .what = what,
         .work = directions == 2 ? "bytes of both directions, timed until both are done"
                                 : "bytes over the link, counted once",
         .quantity = Quantity::kByteRate,
         .method_version = pinned ? kPinnedMethod : 1,
         .loads = Loads::kLink,
         .estimate = pinned ? kPinnedEstimate : Estimate::kMedian,
         .varies_with = varies,
         .limit = pcie_link(directions),
         .ceilings = std::move(ceilings),
         .curves = curve.summarize ? std::vector{std::move(curve)} : std::vector<CurveRule>{},
         .points = std::move(points)},
        run);
  };
  add("pcie.h2d.pinned", "Copy bandwidth from pinned host memory to the device, by size", 1,
      ceiling("pcie.h2d"), rate_over_size_curve(kTopic, "to device", "h2d"), size_points(true),
      [](CudaBench& bench) { locked_copy(bench, Memory::kPinned, Direction::kToDevice); });
  add("pcie.d2h.pinned", "Copy bandwidth from the device to pinned host memory, by size", 1,
      ceiling("pcie.d2h"), rate_over_size_curve(kTopic, "to host", "d2h"), size_points(true),
      [](CudaBench& bench) { locked_copy(bench, Memory::kPinned, Direction::kToHost); });
  // Pageable copies are staged by the CPU, so their rate says little about the link: no ceiling.
  add(
      "pcie.h2d.pageable", "Copy bandwidth from pageable host memory to the device, by size", 1, {},
      largest_size_curve(kTopic, "pageable to device", "h2d_pageable_bytes_per_s"),
      size_points(false), [](CudaBench& bench) { pageable_copy(bench, Direction::kToDevice); },
      VariesWith::kCpu);
  add(
      "pcie.d2h.pageable", "Copy bandwidth from the device to pageable host memory, by size", 1, {},
      largest_size_curve(kTopic, "pageable to host", "d2h_pageable_bytes_per_s"),
      size_points(false), [](CudaBench& bench) { pageable_copy(bench, Direction::kToHost); },
      VariesWith::kCpu);
  add("pcie.bidirectional.pinned",
      "Copy bandwidth in both directions at once, pinned host memory, by size", 2,
      ceiling("pcie.bidirectional"), {}, size_points(true),
      [](CudaBench& bench) { bidirectional_copy(bench, Memory::kPinned); });

  // The rest of the matrix of memory and direction, at the size where kinds of memory compare.
  constexpr auto kOne = static_cast<std::int64_t>(kComparedBytes);
  const auto way = [&](const std::string& direction, const std::string& memory, const char* what,
                       void (*run)(CudaBench&), VariesWith varies = VariesWith::kLaunches) {
    add("pcie." + direction + "." + memory, what, direction == "bidirectional" ? 2 : 1, {},
        link_way_curve(memory, direction), curve_points("bytes", {kOne}), run, varies);
  };
  way("h2d", "write_combined", "Copy bandwidth from write-combined host memory to the device",
      [](CudaBench& bench) { locked_copy(bench, Memory::kWriteCombined, Direction::kToDevice); });
  way("d2h", "write_combined", "Copy bandwidth from the device to write-combined host memory",
      [](CudaBench& bench) { locked_copy(bench, Memory::kWriteCombined, Direction::kToHost); });
  way("bidirectional", "write_combined",
      "Copy bandwidth in both directions at once, write-combined host memory",
      [](CudaBench& bench) { bidirectional_copy(bench, Memory::kWriteCombined); });
  way("h2d", "mapped", "Bandwidth of SMs that read mapped host memory",
      [](CudaBench& bench) { locked_copy(bench, Memory::kMapped, Direction::kToDevice); });
  way("d2h", "mapped", "Bandwidth of SMs that write mapped host memory",
      [](CudaBench& bench) { locked_copy(bench, Memory::kMapped, Direction::kToHost); });
  way("bidirectional", "mapped", "Bandwidth of SMs that read and write mapped host memory at once",
      bidirectional_mapped);
  way("bidirectional", "pageable",
      "Copy bandwidth in both directions at once, pageable host memory", bidirectional_pageable,
      VariesWith::kCpu);
  add("pcie.h2d.pieces", "Time of 16 MiB from pinned host memory to the device, by piece", 1, {},
      pieces_curve(), curve_points("piece", {4 << 10, 64 << 10, 1 << 20, kPiecesBytes}),
      copy_in_pieces);
  add("pcie.node", "Copy bandwidth with pinned memory on each NUMA node of the machine", 1, {},
      node_curve(), node_points(), copy_at_node);
}

}  // namespace peakline::bench

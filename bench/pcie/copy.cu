#include <algorithm>
#include <future>

#include "bench/pcie/host_memory.hpp"
#include "harness/host/topology.hpp"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace {

using namespace pcie;
using cuda::DeviceBuffer;
using cuda::PinnedBuffer;

}  // namespace

void copy_locked_memory(CudaBench& bench, Memory memory, Direction direction) {
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

void copy_pageable_memory(CudaBench& bench, Direction direction) {
  const std::size_t bytes =
      bench.fit_memory(static_cast<std::size_t>(bench.integer("bytes")), 4096);
  const auto near = bind_near(bench);
  std::uint32_t* const host_data = pageable_memory(bench, "one");
  const DeviceBuffer<std::uint32_t> device_data(bytes / sizeof(std::uint32_t));
  // The host's clock times the copy and a wait: the driver stages pageable memory in pinned buffers
  // with the CPU's help, and H2D copies may return before the last part has arrived.
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

// Both directions at once, on a stream each; timed until the slower one ends.
void copy_locked_memory_both_ways(CudaBench& bench, Memory memory) {
  // Fewest bytes per launch and direction that hide forking and joining the streams.
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

// One kernel copies both ways: blocks of a second one would wait for those of the first.
void copy_mapped_memory_both_ways(CudaBench& bench) {
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

// The driver stages pageable copies in the calling thread, so each direction has a thread.
void copy_pageable_memory_both_ways(CudaBench& bench) {
  const auto bytes = static_cast<std::size_t>(bench.integer("bytes"));
  const auto near = bind_near(bench);  // other threads inherit it
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

// Timed from the first call until the last piece has arrived.
void copy_in_pieces(CudaBench& bench, std::size_t bytes) {
  const auto piece = static_cast<std::size_t>(bench.integer("piece"));
  const auto near = bind_near(bench);
  std::uint32_t* const host_data = locked_memory(bench, Memory::kPinned, "one");
  const DeviceBuffer<std::uint32_t> device_data(bytes / sizeof(std::uint32_t));
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
  bench.measure_on_host({.bytes_read = static_cast<double>(bytes)}, copy);
}

void copy_at_numa_node(CudaBench& bench) {
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

}  // namespace peakline::bench

#include <cstring>
#include <memory>

#include "bench/pcie/host_memory.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/host/topology.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/stream.cuh"

namespace peakline::bench {
namespace pcie {
namespace {

using cuda::DeviceBuffer;
using cuda::PinnedBuffer;

cudaMemcpyKind kind_of(Direction direction) {
  return direction == Direction::kToDevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
}

}  // namespace

CudaBench::Launch copy_launch(Direction direction, std::uint32_t* host_data,
                              std::uint32_t* device_data, std::size_t bytes, Memory memory) {
  const bool to_device = direction == Direction::kToDevice;
  std::uint32_t* const to = to_device ? device_data : host_data;
  const std::uint32_t* const from = to_device ? host_data : device_data;
  if (memory == Memory::kMapped)
    return [=](cudaStream_t stream) {
      constexpr int kUnroll = 4;
      constexpr unsigned kThreads = 256;
      const std::size_t count = bytes / sizeof(uint4);
      kernels::stream_copy<uint4, kUnroll>
          <<<kernels::stream_blocks(count, kThreads, kUnroll), kThreads, 0, stream>>>(
              reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to), count);
    };
  return [=](cudaStream_t stream) {
    PEAKLINE_CUDA(cudaMemcpyAsync(to, from, bytes, kind_of(direction), stream));
  };
}

namespace {

// Total seconds of one copy in each direction, with thread and pinned memory on the node.
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

}  // namespace pcie

host::NodeBinding bind_near(CudaBench& bench) {
  const auto& choice = bench.remember<host::NodeChoice>("pcie.node", [&] {
    std::vector<int> nodes;
    for (const NumaNodeFacts& node : host::Topology::usable().numa_nodes())
      nodes.push_back(node.index);
    const auto chosen = host::choose_node(bench.device().numa_node, nodes, [&](int node) {
      return pcie::copy_s_at_node(bench, node);
    });
    if (host::NodeBinding(chosen.node).cpus_bound())
      bench.note("numa_node", std::int64_t{*chosen.node});
    if (chosen.tried)
      bench.remark("the device reports no NUMA node: bound to the node with the fastest copies");
    return chosen;
  });
  return host::NodeBinding(choice.node);
}

namespace pcie {

std::uint32_t* locked_memory(CudaBench& bench, Memory memory, const char* use) {
  using Shared = std::shared_ptr<PinnedBuffer<std::uint32_t>>;
  const bool combined = memory == Memory::kWriteCombined;
  const std::size_t bytes = combined ? kComparedBytes : kLargest;
  return bench
      .remember<Shared>(std::string(combined ? "pcie.write_combined." : "pcie.pinned.") + use,
                        [&] {
                          const auto near = bind_near(bench);
                          auto buffer = std::make_shared<PinnedBuffer<std::uint32_t>>(
                              bytes / sizeof(std::uint32_t),
                              combined ? cudaHostAllocWriteCombined : cudaHostAllocDefault);
                          std::memset(buffer->data(), 1, bytes);
                          return buffer;
                        })
      ->data();
}

std::uint32_t* pageable_memory(CudaBench& bench, const char* use) {
  using Shared = std::shared_ptr<host::HostBuffer>;
  return static_cast<std::uint32_t*>(
      bench
          .remember<Shared>(std::string("pcie.pageable.") + use,
                            [&] {
                              const auto near = bind_near(bench);
                              auto buffer = std::make_shared<host::HostBuffer>(kLargest);
                              std::memset(buffer->data(), 1, kLargest);
                              return buffer;
                            })
          ->data());
}

std::string find_mismatch(Direction direction, std::uint32_t* host_data,
                          const DeviceBuffer<std::uint32_t>& device_data, std::size_t words,
                          std::uint64_t seed, const std::function<void()>& copy) {
  const bool to_device = direction == Direction::kToDevice;
  // The last words catch a copy that stops early.
  struct Part {
    std::size_t first, count;
  };
  const std::size_t tail = words / 2;
  const std::array<Part, 2> parts{{{0, words - tail}, {device_data.size() - tail, tail}}};
  const auto expected = [&](const Part& part, std::size_t i) {
    return static_cast<std::uint32_t>(kernels::random_bits(seed + part.first, i));
  };
  for (const Part& part : parts) {
    std::uint32_t* const device = device_data.data() + part.first;
    if (to_device)
      PEAKLINE_CUDA(cudaMemset(device, 0, part.count * sizeof(std::uint32_t)));
    else
      kernels::fill_bits<<<kAnyBlocks, kAnyThreads>>>(device, part.count, seed + part.first);
    for (std::size_t i = 0; i < part.count; ++i)
      host_data[part.first + i] = to_device ? expected(part, i) : 0;
  }
  PEAKLINE_CUDA(cudaDeviceSynchronize());
  copy();
  for (const Part& part : parts) {
    if (!to_device) {
      for (std::size_t i = 0; i < part.count; ++i)
        if (host_data[part.first + i] != expected(part, i))
          return "copy: word " + std::to_string(part.first + i) + " differs";
      continue;
    }
    const auto source = random_words(part.count, seed + part.first);
    std::string wrong = count_differences("copy", [&](unsigned long long* differences) {
      kernels::reference_compare<<<kAnyBlocks, kAnyThreads>>>(
          source.data(), device_data.data() + part.first, part.count, differences);
    });
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string find_mismatch_both_ways(std::uint32_t* host_out,
                                    const DeviceBuffer<std::uint32_t>& device_in,
                                    std::uint32_t* host_in,
                                    const DeviceBuffer<std::uint32_t>& device_out,
                                    std::uint64_t seed, const std::function<void()>& copy) {
  const std::size_t words = std::min(device_in.size(), kVerifiedWords);
  std::string wrong = find_mismatch(Direction::kToDevice, host_out, device_in, words, seed, copy);
  return wrong.empty()
             ? find_mismatch(Direction::kToHost, host_in, device_out, words, seed + 1, copy)
             : wrong;
}

}  // namespace pcie
}  // namespace peakline::bench

// One process holds all GPUs of the node.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/collective_arrays.cuh"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {
namespace {

using cuda::Nccl;
using cuda::nccl::Communicator;

// NCCL enqueues this many for one operation: a kernel, and its ordering among streams.
constexpr std::int64_t kOperations = 4;

// Operations timed one by one: enough for a 99th percentile, for sizes where latency matters.
constexpr std::size_t kSingleOperations = 300;
constexpr std::int64_t kLatencyBytes = 256 * 1024;
constexpr double kNanoseconds = 1e9;

void note_quantiles(NodeBench& bench, const NodeBench::Launch& launch) {
  std::vector<double> times_s;
  while (times_s.size() < bench.sampler().repeats(kSingleOperations)) {
    const auto timing = bench.sampler().time_batches(launch, 1, kSingleOperations);
    times_s.insert(times_s.end(), timing.launch_s.begin(), timing.launch_s.end());
  }
  const std::span<const double> times(times_s.data(), times_s.size());
  for (const auto& [name, share] : {std::pair("p50_ns", 0.5), std::pair("p99_ns", 0.99)})
    bench.note(name, static_cast<std::int64_t>(quantile(times, share) * kNanoseconds));
}

template <class T>
void run_with(NodeBench& bench, const NcclVariant& variant) {
  const std::span<NodeGpu* const> gpus = bench.gpus();
  const auto bytes = static_cast<std::size_t>(bench.integer("bytes"));
  bench.need_memory(bytes * (variant.in_place ? 1 : 2));
  connect_if_possible(bench);
  NcclGroup& group = nccl_group(bench);
  const CollectiveArrays<T> arrays(gpus, variant, bytes / sizeof(T));
  const auto stream_of = [&](std::size_t rank) { return gpus[rank]->session.sampler.stream(); };
  const NodeBench::Launch launch(
      [&](cudaStream_t stream) {
        group.ranks.enqueue([&](int rank, Communicator* communicator) {
          return enqueue_collective(group.nccl, variant.collective, arrays, rank,
                                    group.ranks.size(), communicator,
                                    rank == 0 ? stream : stream_of(static_cast<std::size_t>(rank)));
        });
      },
      {.operations = kOperations});
  const auto finish = [&] {
    for (const NodeGpu* gpu : gpus) gpu->session.sampler.synchronize();
  };
  const auto once = [&] {
    bench.launch_once(launch);
    finish();
  };
  arrays.fill();
  group.nccl.take_choice();
  once();
  if (const auto choice = group.nccl.take_choice()) {
    bench.note("algorithm", choice->algorithm);
    bench.note("protocol", choice->protocol);
  }
  bench.note("nccl", group.nccl.version());
  bench.note("nvls", Nccl::nvls());
  bench.verify([&] { return arrays.find_mismatch(); });
  bench.measure(
      {.bytes_written = bus_bytes(variant.collective, gpus.size(), static_cast<double>(bytes))},
      launch);
  const double algorithm =
      algorithm_bandwidth(variant.collective, gpus.size(), *bench.record().value);
  bench.note("algorithm_bytes_per_s", static_cast<std::int64_t>(algorithm));
  if (bench.integer("bytes") <= kLatencyBytes) note_quantiles(bench, launch);
  finish();
}

}  // namespace

void run_collective(NodeBench& bench, const NcclVariant& variant) {
  if (variant.fp32)
    run_with<float>(bench, variant);
  else
    run_with<__nv_bfloat16>(bench, variant);
}

}  // namespace peakline::bench

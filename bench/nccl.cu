// One process holds all GPUs of the node.

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/collectives.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/benchmark/node_bench.hpp"
#include "harness/cuda/nccl.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/collective.cuh"

namespace peakline::bench {
namespace {

using cuda::Nccl;
using cuda::NcclRanks;
using cuda::nccl::Communicator;
using cuda::nccl::DataType;
using cuda::nccl::Reduction;
using cuda::nccl::Result;

// Makes the first rank, whose stream is timed, the last of a broadcast's ring; the root ends early.
constexpr int kRoot = 1;

// NCCL enqueues this many for one operation: a kernel, and its ordering among streams.
constexpr std::int64_t kOperations = 4;

// Operations timed one by one: enough for a 99th percentile, for sizes where latency matters.
constexpr std::size_t kSingleOperations = 300;
constexpr std::int64_t kLatencyBytes = 256 * 1024;
constexpr double kNanoseconds = 1e9;

template <class T>
constexpr DataType kType = std::is_same_v<T, float> ? DataType::kFloat32 : DataType::kBfloat16;
static_assert(sizeof(float) == bytes_of_element({.fp32 = true}) &&
              sizeof(__nv_bfloat16) == bytes_of_element({.fp32 = false}));

struct Group {
  explicit Group(std::span<NodeGpu* const> gpus) : ranks(nccl, ordinals_of(gpus)) {}

  static std::vector<int> ordinals_of(std::span<NodeGpu* const> gpus) {
    std::vector<int> ordinals;
    for (const NodeGpu* gpu : gpus) ordinals.push_back(gpu->ordinal);
    return ordinals;
  }

  Nccl nccl;
  NcclRanks ranks;
};

// Creation is tried once per number of GPUs: a failure holds for all their points.
Group& group_of(NodeBench& bench) {
  struct Made {
    std::shared_ptr<Group> group;
    std::string unavailable, failure;
  };
  const Made& made = bench.remember<Made>("nccl/" + std::to_string(bench.gpus().size()), [&] {
    Made result;
    try {
      result.group = std::make_shared<Group>(bench.gpus());
    } catch (const cuda::NcclUnavailable& unavailable) {
      result.unavailable = unavailable.what();
    } catch (const cuda::NcclError& error) {
      result.failure = error.what();
    }
    return result;
  });
  if (!made.unavailable.empty()) throw Skipped(made.unavailable);
  if (!made.failure.empty()) throw cuda::NcclError(made.failure);
  return *made.group;
}

// One operation's arrays on each rank: `count` elements in all, `part` in a rank's share.
template <class T>
class Arrays {
 public:
  Arrays(std::span<NodeGpu* const> gpus, const NcclVariant& variant, std::size_t count)
      : gpus_(gpus), variant_(variant), count_(count), part_(count / gpus.size()) {
    for (const NodeGpu* gpu : gpus) {
      first_.emplace_back(*gpu, count);
      if (!variant.in_place) second_.emplace_back(*gpu, count);
    }
  }

  T* send(std::size_t rank) const {
    const bool shares = variant_.in_place && variant_.collective == Collective::kAllGather;
    return first_[rank].data() + (shares ? rank * part_ : 0);
  }
  T* receive(std::size_t rank) const {
    if (!variant_.in_place) return second_[rank].data();
    const bool shares = variant_.collective == Collective::kReduceScatter;
    return first_[rank].data() + (shares ? rank * part_ : 0);
  }
  std::size_t count() const { return count_; }
  std::size_t part() const { return part_; }
  std::size_t sent() const {
    return variant_.collective == Collective::kAllGather ? part_ : count_;
  }
  std::size_t received() const {
    return variant_.collective == Collective::kReduceScatter ? part_ : count_;
  }

  // Fills what is sent, and poisons everything else.
  void fill() const {
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      const CurrentGpu current(*gpus_[rank]);
      PEAKLINE_CUDA(cudaMemset(receive(rank), 0xff, received() * sizeof(T)));
      kernels::fill_contribution<<<kAnyBlocks, kAnyThreads>>>(send(rank), sent(),
                                                              static_cast<int>(rank));
      PEAKLINE_CUDA(cudaGetLastError());
      PEAKLINE_CUDA(cudaDeviceSynchronize());
    }
  }

  std::string find_mismatch() const {
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      const CurrentGpu current(*gpus_[rank]);
      const std::string name = "what GPU " + std::to_string(gpus_[rank]->index) + " received";
      const std::string wrong = count_differences(name.c_str(), [&](unsigned long long* found) {
        kernels::reference_collective<<<kAnyBlocks, kAnyThreads>>>(receive(rank), received(),
                                                                   expected(rank), found);
      });
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  kernels::CollectiveResult expected(std::size_t rank) const {
    const int ranks = static_cast<int>(gpus_.size()), own = static_cast<int>(rank);
    kernels::CollectiveResult result{
        .first_rank = 0, .summed = 1, .segment = received(), .offset = 0};
    switch (variant_.collective) {
      case Collective::kAllReduce:
        result.summed = ranks;
        break;
      case Collective::kReduceScatter:
        result.summed = ranks;
        result.offset = rank * part_;
        break;
      case Collective::kAllGather:
        result.segment = part_;
        break;
      case Collective::kAllToAll:
        result.segment = part_;
        result.offset = rank * part_;
        break;
      case Collective::kBroadcast:
        result.first_rank = kRoot;
        break;
      case Collective::kSendReceive:
        result.first_rank = (own + ranks - 1) % ranks;
        break;
    }
    return result;
  }

  std::span<NodeGpu* const> gpus_;
  NcclVariant variant_;
  std::size_t count_, part_;
  std::deque<NodeBuffer<T>> first_, second_;
};

template <class T>
Result enqueue(const Nccl& nccl, Collective collective, const Arrays<T>& arrays, int rank,
               int ranks, Communicator* communicator, cudaStream_t stream) {
  const auto own = static_cast<std::size_t>(rank);
  const T* const send = arrays.send(own);
  T* const receive = arrays.receive(own);
  const std::size_t count = arrays.count(), part = arrays.part();
  const auto exchange = [&](std::size_t at, std::size_t elements, int to, int from) {
    const Result sent = nccl.send(send + at, elements, kType<T>, to, communicator, stream);
    if (sent != Result::kSuccess) return sent;
    return nccl.receive(receive + at, elements, kType<T>, from, communicator, stream);
  };
  switch (collective) {
    case Collective::kAllReduce:
      return nccl.all_reduce(send, receive, count, kType<T>, Reduction::kSum, communicator, stream);
    case Collective::kReduceScatter:
      return nccl.reduce_scatter(send, receive, part, kType<T>, Reduction::kSum, communicator,
                                 stream);
    case Collective::kAllGather:
      return nccl.all_gather(send, receive, part, kType<T>, communicator, stream);
    case Collective::kBroadcast:
      return nccl.broadcast(send, receive, count, kType<T>, kRoot, communicator, stream);
    case Collective::kAllToAll:
      for (int peer = 0; peer < ranks; ++peer) {
        const Result result = exchange(static_cast<std::size_t>(peer) * part, part, peer, peer);
        if (result != Result::kSuccess) return result;
      }
      return Result::kSuccess;
    case Collective::kSendReceive:
      return exchange(0, count, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
  }
  return Result::kSuccess;
}

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

// With peer access NCCL copies from array to array; without it, through host memory.
void connect(NodeBench& bench) {
  try {
    bench.connect();
  } catch (const Skipped& refused) {
    bench.remark(refused.what());
  }
}

template <class T>
void run_with(NodeBench& bench, const NcclVariant& variant) {
  const std::span<NodeGpu* const> gpus = bench.gpus();
  const auto bytes = static_cast<std::size_t>(bench.integer("bytes"));
  bench.need_memory(bytes * (variant.in_place ? 1 : 2));
  connect(bench);
  Group& group = group_of(bench);
  const Arrays<T> arrays(gpus, variant, bytes / sizeof(T));
  const auto stream_of = [&](std::size_t rank) { return gpus[rank]->session.sampler.stream(); };
  const NodeBench::Launch launch(
      [&](cudaStream_t stream) {
        group.ranks.enqueue([&](int rank, Communicator* communicator) {
          return enqueue(group.nccl, variant.collective, arrays, rank, group.ranks.size(),
                         communicator,
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

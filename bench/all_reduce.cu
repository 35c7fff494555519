#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/all_reduce.hpp"
#include "bench/collective_arrays.cuh"
#include "kernels/all_reduce.cuh"

namespace peakline::bench {
namespace {

using T = __nv_bfloat16;
using cuda::nccl::Communicator;

// A graph has as many as some layers of a model.
constexpr int kOperations = 64;
constexpr int kBlocks = 20;
constexpr double kBlockSeconds = 1e-3;
// Graphs that wait behind the running block, so that no GPU waits for the host.
constexpr int kBlocksAhead = 2;

cudaStream_t stream_of(const NodeGpu& gpu) { return gpu.session.sampler.stream(); }

// Each GPU replays the same operations from a graph of its own, as if it had its own process.
class Replays {
 public:
  // enqueue: one operation on all GPUs' streams.
  Replays(std::span<NodeGpu* const> gpus, const std::function<void()>& enqueue) : gpus_(gpus) {
    for (const NodeGpu* gpu : gpus) cuda::Graph::begin_capture(stream_of(*gpu));
    for (int i = 0; i < kOperations; ++i) enqueue();
    std::vector<cudaGraph_t> captured;
    for (const NodeGpu* gpu : gpus) captured.push_back(cuda::Graph::end_capture(stream_of(*gpu)));
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const CurrentGpu current(*gpus[i]);
      graphs_.emplace_back(stream_of(*gpus[i]), captured[i]);
    }
  }
  void launch() const {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const CurrentGpu current(*gpus_[i]);
      graphs_[i].launch(stream_of(*gpus_[i]));
    }
  }
  void synchronize() const {
    for (const NodeGpu* gpu : gpus_) gpu->session.sampler.synchronize();
  }
  // Seconds per operation of each block, on the first GPU, which must be current.
  std::vector<double> time(int blocks) const {
    const cudaStream_t stream = stream_of(*gpus_.front());
    launch();
    synchronize();
    const cuda::Event begin, once;
    begin.record(stream);
    launch();
    once.record(stream);
    once.synchronize();
    const int replays = std::max(1, static_cast<int>(kBlockSeconds / cuda::elapsed_s(begin, once)));
    std::deque<cuda::Event> ends(static_cast<std::size_t>(blocks) + 1);
    for (std::size_t block = 0; block < ends.size(); ++block) {
      for (int i = 0; i < replays; ++i) launch();
      ends[block].record(stream);
      if (block >= kBlocksAhead) ends[block - kBlocksAhead].synchronize();
    }
    synchronize();
    std::vector<double> seconds;
    for (std::size_t block = 1; block < ends.size(); ++block)
      seconds.push_back(cuda::elapsed_s(ends[block - 1], ends[block]) / (replays * kOperations));
    return seconds;
  }

 private:
  std::span<NodeGpu* const> gpus_;
  std::deque<cuda::Graph> graphs_;
};

// Runs a kernel of ours with `blocks` thread blocks on each GPU.
class OurAllReduce {
 public:
  using Kernel = void (*)(const uint4*, std::size_t, int, kernels::Meeting);

  OurAllReduce(std::span<NodeGpu* const> gpus, const CollectiveArrays<T>& arrays, Kernel kernel,
               std::size_t staged_vectors, unsigned blocks)
      : gpus_(gpus), arrays_(arrays), kernel_(kernel), blocks_(blocks) {
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      const NodeGpu& gpu = *gpus[rank];
      meeting_.staged[rank] = staged_.emplace_back(gpu, staged_vectors).data();
      meeting_.result[rank] = reinterpret_cast<uint4*>(arrays.receive(rank));
      meeting_.arrived[rank] = flags_.emplace_back(gpu, blocks * kernels::kMostRanks).data();
      meeting_.done[rank] = counts_.emplace_back(gpu, blocks).data();
      const CurrentGpu current(gpu);
      PEAKLINE_CUDA(cudaMemset(flags_.back().data(), 0, flags_.back().size() * sizeof(unsigned)));
      PEAKLINE_CUDA(cudaMemset(counts_.back().data(), 0, blocks * sizeof(unsigned)));
      PEAKLINE_CUDA(cudaDeviceSynchronize());
    }
  }
  unsigned blocks() const { return blocks_; }
  void enqueue() const {
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      const CurrentGpu current(*gpus_[rank]);
      kernel_<<<blocks_, kernels::kAllReduceThreads, 0, stream_of(*gpus_[rank])>>>(
          reinterpret_cast<const uint4*>(arrays_.send(rank)), vectors_of(arrays_),
          static_cast<int>(rank), meeting_);
    }
  }
  static std::size_t vectors_of(const CollectiveArrays<T>& arrays) {
    return arrays.count() * sizeof(T) / sizeof(uint4);
  }

 private:
  std::span<NodeGpu* const> gpus_;
  const CollectiveArrays<T>& arrays_;
  Kernel kernel_;
  unsigned blocks_;
  std::deque<NodeBuffer<uint4>> staged_;
  std::deque<NodeBuffer<unsigned>> flags_, counts_;
  kernels::Meeting meeting_ = {};
};

// By number of ranks, from two on.
template <int... kMore>
constexpr auto one_shots(std::integer_sequence<int, kMore...>) {
  return std::array<OurAllReduce::Kernel, sizeof...(kMore)>{
      kernels::one_shot_all_reduce<kMore + 2>...};
}
template <int... kMore>
constexpr auto two_shots(std::integer_sequence<int, kMore...>) {
  return std::array<OurAllReduce::Kernel, sizeof...(kMore)>{
      kernels::two_shot_all_reduce<kMore + 2>...};
}
using MoreRanks = std::make_integer_sequence<int, kernels::kMostRanks - 1>;

// Blocks that run at the same time on any of the GPUs, and have something to do.
std::vector<unsigned> numbers_of_blocks(const NodeBench& bench, std::size_t vectors) {
  const auto most = static_cast<unsigned>(std::min<std::size_t>(
      (vectors + kernels::kAllReduceThreads - 1) / kernels::kAllReduceThreads, bench.sm_count()));
  std::vector<unsigned> numbers;
  for (unsigned blocks = 8; blocks < most; blocks *= 2) numbers.push_back(blocks);
  numbers.push_back(most);
  return numbers;
}

void measure_replays(NodeBench& bench, const CollectiveArrays<T>& arrays, const Replays& replays) {
  bench.verify([&] {
    arrays.fill();
    replays.launch();
    replays.synchronize();
    return arrays.find_mismatch();
  });
  bench.measure_blocks({}, [&] { return replays.time(kBlocks); });
}

void measure_ours(NodeBench& bench, const CollectiveArrays<T>& arrays, AllReduceBy by) {
  if (bench.options().profile) throw Skipped("a profiler runs one kernel at a time");
  const std::span<NodeGpu* const> gpus = bench.gpus();
  if (gpus.size() > kernels::kMostRanks)
    throw Skipped("the kernel is written for up to " + std::to_string(kernels::kMostRanks) +
                  " GPUs");
  const bool one_shot = by == AllReduceBy::kOneShot;
  const std::size_t vectors = OurAllReduce::vectors_of(arrays), more = gpus.size() - 2;
  struct Candidate {
    OurAllReduce all_reduce;
    Replays replays;
    double seconds;
    Candidate(std::span<NodeGpu* const> gpus, const CollectiveArrays<T>& arrays,
              OurAllReduce::Kernel kernel, std::size_t staged, unsigned blocks)
        : all_reduce(gpus, arrays, kernel, staged, blocks),
          replays(gpus, [this] { all_reduce.enqueue(); }),
          seconds(std::ranges::min(replays.time(2))) {}
  };
  const auto kernel = one_shot ? one_shots(MoreRanks{})[more] : two_shots(MoreRanks{})[more];
  const std::size_t staged = one_shot ? 2 * gpus.size() * vectors : vectors;
  std::deque<Candidate> candidates;
  for (const unsigned blocks : numbers_of_blocks(bench, one_shot ? vectors : vectors / gpus.size()))
    candidates.emplace_back(gpus, arrays, kernel, staged, blocks);
  const Candidate& best = *std::ranges::min_element(candidates, {}, &Candidate::seconds);
  bench.note("candidates", static_cast<std::int64_t>(candidates.size()));
  bench.note("blocks", std::int64_t{best.all_reduce.blocks()});
  measure_replays(bench, arrays, best.replays);
}

void measure_nccl(NodeBench& bench, NcclGroup& group, const CollectiveArrays<T>& arrays,
                  bool symmetric) {
  const auto enqueue = [&] {
    group.ranks.enqueue([&](int rank, Communicator* communicator) {
      return enqueue_collective(group.nccl, Collective::kAllReduce, arrays, rank,
                                group.ranks.size(), communicator,
                                stream_of(*bench.gpus()[static_cast<std::size_t>(rank)]));
    });
  };
  group.nccl.take_choice();
  enqueue();  // connects the ranks, which a capture cannot
  for (const NodeGpu* gpu : bench.gpus()) gpu->session.sampler.synchronize();
  const Replays replays(bench.gpus(), enqueue);
  const auto choice = group.nccl.take_choice();  // of the graph
  bench.note("nccl", group.nccl.version());
  bench.note("nvls", cuda::Nccl::nvls());
  if (symmetric && (!choice || choice->symmetric_kernel.empty()))
    throw Skipped(choice ? "NCCL chose no kernel for symmetric memory"
                         : "NCCL's log does not say which kernel it chose");
  if (choice && choice->symmetric_kernel.empty()) {
    bench.note("algorithm", choice->algorithm);
    bench.note("protocol", choice->protocol);
  } else if (choice) {
    bench.note("kernel", choice->symmetric_kernel);
  }
  if (choice && choice->channels) bench.note("channels", std::int64_t{*choice->channels});
  measure_replays(bench, arrays, replays);
}

cuda::NcclSymmetricMemory symmetric_memory(const NcclGroup& group, std::size_t bytes) try {
  return {group.ranks, bytes};
} catch (const cuda::NcclUnavailable& unavailable) {
  throw Skipped(unavailable.what());
}

}  // namespace

void measure_all_reduce(NodeBench& bench, AllReduceBy by) {
  const std::span<NodeGpu* const> gpus = bench.gpus();
  const auto bytes = static_cast<std::size_t>(bench.integer("bytes"));
  const NcclVariant variant{.collective = Collective::kAllReduce};
  bench.connect();
  bench.note("operations", std::int64_t{kOperations});
  switch (by) {
    case AllReduceBy::kNccl:
      measure_nccl(bench, nccl_group(bench), {gpus, variant, bytes / sizeof(T)}, false);
      return;
    case AllReduceBy::kNcclSymmetric: {
      NcclGroup& group = nccl_group(bench);
      const cuda::NcclSymmetricMemory memory = symmetric_memory(group, 2 * bytes);
      measure_nccl(bench, group, {gpus, variant, bytes / sizeof(T), memory}, true);
      return;
    }
    case AllReduceBy::kOneShot:
    case AllReduceBy::kTwoShot:
      measure_ours(bench, {gpus, variant, bytes / sizeof(T)}, by);
      return;
  }
}

}  // namespace peakline::bench

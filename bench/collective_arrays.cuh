#pragma once

// A collective of NCCL over the GPUs of a node, one process holding all of them: its arrays, and
// its check.

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/collectives.hpp"
#include "harness/benchmark/cuda_data.cuh"
#include "harness/benchmark/node_bench.hpp"
#include "harness/cuda/nccl.hpp"
#include "kernels/collective.cuh"

namespace peakline::bench {

// Makes the first rank, whose stream is timed, the last of a broadcast's ring; the root ends early.
inline constexpr int kRoot = 1;

template <class T>
constexpr auto kNcclType =
    std::is_same_v<T, float> ? cuda::nccl::DataType::kFloat32 : cuda::nccl::DataType::kBfloat16;
static_assert(sizeof(float) == bytes_of_element({.fp32 = true}) &&
              sizeof(__nv_bfloat16) == bytes_of_element({.fp32 = false}));

// most_ctas: see NcclRanks.
struct NcclGroup {
  NcclGroup(std::shared_ptr<cuda::Nccl> library, std::span<NodeGpu* const> gpus, int most_ctas)
      : nccl_library(std::move(library)),
        nccl(*nccl_library),
        ranks(nccl, ordinals_of(gpus), most_ctas) {}

  static std::vector<int> ordinals_of(std::span<NodeGpu* const> gpus) {
    std::vector<int> ordinals;
    for (const NodeGpu* gpu : gpus) ordinals.push_back(gpu->ordinal);
    return ordinals;
  }

  std::shared_ptr<cuda::Nccl> nccl_library;
  cuda::Nccl& nccl;
  cuda::NcclRanks ranks;
};

// All groups write to the log of the first, since NCCL reads its environment once.
inline std::shared_ptr<cuda::Nccl> nccl_of(NodeBench& bench) {
  return bench.remember<std::shared_ptr<cuda::Nccl>>("nccl",
                                                     [] { return std::make_shared<cuda::Nccl>(); });
}

// Creation is tried once per number of GPUs and thread blocks: a failure holds for all their
// points.
inline NcclGroup& nccl_group(NodeBench& bench, int most_ctas = 0) {
  struct Made {
    std::shared_ptr<NcclGroup> group;
    std::string unavailable, failure;
  };
  const Made& made = bench.remember<Made>(
      "nccl/" + std::to_string(bench.gpus().size()) + "/" + std::to_string(most_ctas), [&] {
        Made result;
        try {
          result.group = std::make_shared<NcclGroup>(nccl_of(bench), bench.gpus(), most_ctas);
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
class CollectiveArrays {
 public:
  CollectiveArrays(std::span<NodeGpu* const> gpus, const NcclVariant& variant, std::size_t count)
      : gpus_(gpus), variant_(variant), count_(count), part_(count / gpus.size()) {
    for (const NodeGpu* gpu : gpus) {
      first_.push_back(owned_.emplace_back(*gpu, count).data());
      second_.push_back(variant.in_place ? first_.back() : owned_.emplace_back(*gpu, count).data());
    }
  }
  // In memory of 2 x count elements on each rank, out of place.
  CollectiveArrays(std::span<NodeGpu* const> gpus, const NcclVariant& variant, std::size_t count,
                   const cuda::NcclSymmetricMemory& memory)
      : gpus_(gpus), variant_(variant), count_(count), part_(count / gpus.size()) {
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      first_.push_back(static_cast<T*>(memory.of(rank)));
      second_.push_back(first_.back() + count);
    }
  }

  T* send(std::size_t rank) const {
    const bool shares = variant_.in_place && variant_.collective == Collective::kAllGather;
    return first_[rank] + (shares ? rank * part_ : 0);
  }
  T* receive(std::size_t rank) const {
    if (!variant_.in_place) return second_[rank];
    const bool shares = variant_.collective == Collective::kReduceScatter;
    return first_[rank] + (shares ? rank * part_ : 0);
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
  std::vector<T*> first_, second_;
  std::deque<NodeBuffer<T>> owned_;
};

template <class T>
cuda::nccl::Result enqueue_collective(const cuda::Nccl& nccl, Collective collective,
                                      const CollectiveArrays<T>& arrays, int rank, int ranks,
                                      cuda::nccl::Communicator* communicator, cudaStream_t stream) {
  const auto own = static_cast<std::size_t>(rank);
  const T* const send = arrays.send(own);
  T* const receive = arrays.receive(own);
  const std::size_t count = arrays.count(), part = arrays.part();
  const auto exchange = [&](std::size_t at, std::size_t elements, int to, int from) {
    const cuda::nccl::Result sent =
        nccl.send(send + at, elements, kNcclType<T>, to, communicator, stream);
    if (sent != cuda::nccl::Result::kSuccess) return sent;
    return nccl.receive(receive + at, elements, kNcclType<T>, from, communicator, stream);
  };
  switch (collective) {
    case Collective::kAllReduce:
      return nccl.all_reduce(send, receive, count, kNcclType<T>, cuda::nccl::Reduction::kSum,
                             communicator, stream);
    case Collective::kReduceScatter:
      return nccl.reduce_scatter(send, receive, part, kNcclType<T>, cuda::nccl::Reduction::kSum,
                                 communicator, stream);
    case Collective::kAllGather:
      return nccl.all_gather(send, receive, part, kNcclType<T>, communicator, stream);
    case Collective::kBroadcast:
      return nccl.broadcast(send, receive, count, kNcclType<T>, kRoot, communicator, stream);
    case Collective::kAllToAll:
      for (int peer = 0; peer < ranks; ++peer) {
        const cuda::nccl::Result result =
            exchange(static_cast<std::size_t>(peer) * part, part, peer, peer);
        if (result != cuda::nccl::Result::kSuccess) return result;
      }
      return cuda::nccl::Result::kSuccess;
    case Collective::kSendReceive:
      return exchange(0, count, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
  }
  return cuda::nccl::Result::kSuccess;
}

// With peer access NCCL copies from array to array; without it, through host memory.
inline void connect_if_possible(NodeBench& bench) {
  try {
    bench.connect();
  } catch (const Skipped& refused) {
    bench.remark(refused.what());
  }
}

}  // namespace peakline::bench

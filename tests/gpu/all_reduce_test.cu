// Small all-reduces of ours, replayed many times with new data and ranks that come late.

#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "harness/cuda/resources.hpp"
#include "kernels/all_reduce.cuh"
#include "kernels/collective.cuh"
#include "kernels/fill.cuh"

namespace peakline {
namespace {

using T = __nv_bfloat16;
using AllReduce = void (*)(const uint4*, std::size_t, int, kernels::Meeting);

constexpr int kThreads = 256, kBlocksOfHelpers = 8;

// Each operation has data of its own.
__device__ int first_rank(const std::uint32_t* operations, int ranks) {
  return static_cast<int>(operations[0] % 1024) * ranks;
}

__global__ void fill(T* data, std::size_t count, int rank, int ranks,
                     const std::uint32_t* operations) {
  const int contributor = first_rank(operations, ranks) + rank;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x)
    data[i] = static_cast<T>(kernels::contribution(contributor, i));
}

// Up to 8 us, another time for each rank and operation.
__global__ void delay(int rank, const std::uint32_t* operations) {
  const auto random = static_cast<std::uint32_t>(kernels::random_bits(rank, operations[0]));
  for (const long long end = clock64() + random % 16384; clock64() < end;) continue;
}

__global__ void compare(const T* result, std::size_t count, int ranks,
                        const std::uint32_t* operations, unsigned long long* wrong) {
  const int first = first_rank(operations, ranks);
  unsigned long long found = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int rank = first; rank < first + ranks; ++rank) sum += kernels::contribution(rank, i);
    found += !(static_cast<float>(result[i]) == sum);
  }
  if (found != 0) atomicAdd(wrong, found);
}

__global__ void count_operation(std::uint32_t* operations) { ++operations[0]; }

__global__ void no_all_reduce(const uint4*, std::size_t, int, kernels::Meeting) {}

// Memory that is 0 and that other GPUs reach.
template <class E>
class PeerMemory {
 public:
  explicit PeerMemory(std::size_t size) {
    void* memory = nullptr;
    PEAKLINE_CUDA(cudaMalloc(&memory, size * sizeof(E)));
    memory_.reset(memory);
    PEAKLINE_CUDA(cudaMemset(memory, 0, size * sizeof(E)));
    PEAKLINE_CUDA(cudaDeviceSynchronize());
  }
  E* data() const { return static_cast<E*>(memory_.get()); }
  E first() const {
    E value{};
    PEAKLINE_CUDA(cudaDeviceSynchronize());
    PEAKLINE_CUDA(cudaMemcpy(&value, memory_.get(), sizeof(E), cudaMemcpyDeviceToHost));
    return value;
  }

 private:
  struct Free {
    void operator()(void* memory) const { cudaFree(memory); }
  };
  std::unique_ptr<void, Free> memory_;
};

struct Rank {
  Rank(std::size_t vectors, unsigned blocks, std::size_t staged_vectors)
      : data(vectors),
        result(vectors),
        staged(staged_vectors),
        arrived(blocks * kernels::kMostRanks),
        done(blocks) {}
  cuda::Stream stream;
  PeerMemory<uint4> data, result, staged;
  PeerMemory<std::uint32_t> arrived, done, operations{1};
  PeerMemory<unsigned long long> wrong{1};
};

class SmallAllReduce : public testing::Test {
 protected:
  static constexpr int kRanks = 2;

  void SetUp() override {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < kRanks) GTEST_SKIP() << "needs two GPUs";
    for (int own = 0; own < kRanks; ++own) {
      cudaSetDevice(own);
      // Once a process: compute-sanitizer reports a second time as an error.
      static std::array<cudaError_t, kRanks> enabled{cudaErrorUnknown, cudaErrorUnknown};
      cudaError_t& code = enabled[static_cast<std::size_t>(own)];
      if (code == cudaErrorUnknown) code = cudaDeviceEnablePeerAccess(1 - own, 0);
      if (code != cudaSuccess && code != cudaErrorPeerAccessAlreadyEnabled)
        GTEST_SKIP() << "the GPUs do not reach each other";
      cudaGetLastError();
    }
    cudaSetDevice(0);
  }

  // Replays a graph on each rank: new data, a delay, the operation, a comparison. Returns the
  // number of wrong elements on all ranks.
  static unsigned long long wrong_after(AllReduce kernel, bool one_shot, std::size_t vectors,
                                        unsigned blocks, int replays) {
    std::deque<Rank> ranks;
    kernels::Meeting meeting = {};
    for (int own = 0; own < kRanks; ++own) {
      cudaSetDevice(own);
      const Rank& rank =
          ranks.emplace_back(vectors, blocks, one_shot ? 2 * kRanks * vectors : vectors);
      meeting.staged[own] = rank.staged.data();
      meeting.result[own] = rank.result.data();
      meeting.arrived[own] = rank.arrived.data();
      meeting.done[own] = rank.done.data();
    }
    std::deque<cuda::Graph> graphs;
    for (int own = 0; own < kRanks; ++own) {
      cudaSetDevice(own);
      const Rank& rank = ranks[own];
      const std::size_t count = vectors * sizeof(uint4) / sizeof(T);
      graphs.emplace_back(rank.stream.get(), [&](cudaStream_t stream) {
        fill<<<kBlocksOfHelpers, kThreads, 0, stream>>>(reinterpret_cast<T*>(rank.data.data()),
                                                        count, own, kRanks, rank.operations.data());
        delay<<<1, 1, 0, stream>>>(own, rank.operations.data());
        kernel<<<blocks, kernels::kAllReduceThreads, 0, stream>>>(rank.data.data(), vectors, own,
                                                                  meeting);
        compare<<<kBlocksOfHelpers, kThreads, 0, stream>>>(
            reinterpret_cast<const T*>(rank.result.data()), count, kRanks, rank.operations.data(),
            rank.wrong.data());
        count_operation<<<1, 1, 0, stream>>>(rank.operations.data());
      });
    }
    for (int i = 0; i < replays; ++i) {
      for (int own = 0; own < kRanks; ++own) {
        cudaSetDevice(own);
        graphs[own].launch(ranks[own].stream.get());
      }
    }
    unsigned long long wrong = 0;
    for (int own = 0; own < kRanks; ++own) {
      cudaSetDevice(own);
      wrong += ranks[own].wrong.first();
      EXPECT_EQ(ranks[own].operations.first(), static_cast<std::uint32_t>(replays));
    }
    cudaSetDevice(0);
    return wrong;
  }
};

struct Case {
  std::size_t vectors;
  unsigned blocks;
};
constexpr Case kCases[] = {{2, 1}, {512, 1}, {2048, 4}, {8192, 8}};

TEST_F(SmallAllReduce, IsRightInTensOfThousandsOfReplays) {
  constexpr int kReplays = 25'000;  // of each of the four
  for (const auto& [vectors, blocks] : kCases) {
    EXPECT_EQ(wrong_after(kernels::one_shot_all_reduce<2>, true, vectors, blocks, kReplays), 0u);
    EXPECT_EQ(wrong_after(kernels::two_shot_all_reduce<2>, false, vectors, blocks, kReplays), 0u);
  }
}

TEST_F(SmallAllReduce, IsRightInAFewReplays) {
  EXPECT_EQ(wrong_after(kernels::one_shot_all_reduce<2>, true, 2048, 4, 20), 0u);
  EXPECT_EQ(wrong_after(kernels::two_shot_all_reduce<2>, false, 2048, 4, 20), 0u);
}

TEST_F(SmallAllReduce, AWrongSumIsCounted) {
  EXPECT_GT(wrong_after(no_all_reduce, true, 2, 1, 2), 0u);
}

}  // namespace
}  // namespace peakline

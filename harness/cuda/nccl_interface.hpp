#pragma once

// The part of NCCL's ABI that is used, so that builds do not need NCCL. Names and values: nccl.h
// (https://github.com/NVIDIA/nccl/blob/master/src/nccl.h.in), unchanged since 2.10, or since
// the version that is named.

#include <cuda_runtime_api.h>

#include <array>
#include <climits>
#include <cstddef>

namespace peakline::cuda::nccl {

struct Communicator;  // ncclComm

enum class Result : int { kSuccess = 0 };
enum class DataType : int { kFloat32 = 7, kBfloat16 = 9 };
enum class Reduction : int { kSum = 0 };

struct UniqueId {
  std::array<char, 128> bytes;
};

// Of a communicator, since 2.18, whose number it states; later fields then have their defaults.
struct Config {
  static constexpr int kUndefined = INT_MIN;
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = kUndefined, cga_cluster_size = kUndefined;
  int min_ctas = kUndefined, max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
};

using GetVersion = Result(int* version);
using GetErrorString = const char*(Result result);
using CommInitAll = Result(Communicator** communicators, int count, const int* devices);
using GetUniqueId = Result(UniqueId* id);
using CommInitRankConfig = Result(Communicator**, int ranks, UniqueId, int rank, Config*);
// Since 2.27: memory for NCCL's kernels that reach all ranks' directly, registered by all of them.
struct Window;                        // ncclWindow
inline constexpr int kSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
using MemAlloc = Result(void** memory, std::size_t bytes);
using MemFree = Result(void* memory);
using CommWindowRegister = Result(Communicator*, void* memory, std::size_t bytes, Window**,
                                  int flags);
using CommWindowDeregister = Result(Communicator*, Window*);

using CommDestroy = Result(Communicator* communicator);
using GroupStart = Result();
using GroupEnd = Result();
using AllReduce = Result(const void* send, void* receive, std::size_t count, DataType, Reduction,
                         Communicator*, cudaStream_t);
// receive_count: per rank.
using ReduceScatter = Result(const void* send, void* receive, std::size_t receive_count, DataType,
                             Reduction, Communicator*, cudaStream_t);
// send_count: per rank.
using AllGather = Result(const void* send, void* receive, std::size_t send_count, DataType,
                         Communicator*, cudaStream_t);
using Broadcast = Result(const void* send, void* receive, std::size_t count, DataType, int root,
                         Communicator*, cudaStream_t);
using Send = Result(const void* send, std::size_t count, DataType, int peer, Communicator*,
                    cudaStream_t);
using Receive = Result(void* receive, std::size_t count, DataType, int peer, Communicator*,
                       cudaStream_t);

}  // namespace peakline::cuda::nccl

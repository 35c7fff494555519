// A libnccl for tests without GPUs: collectives move nothing. Environment:
//   FAKE_NCCL=hang   a collective never returns
//   FAKE_NCCL=fail   a collective returns ncclInvalidUsage
// Logs collectives as NCCL does. FAKE_NCCL_OLD: no ncclRecv.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "harness/cuda/nccl_interface.hpp"

namespace nccl = peakline::cuda::nccl;

namespace {

constexpr auto kInvalidUsage = static_cast<nccl::Result>(5);
int alive = 0;

nccl::Result collective(const char* name, std::size_t count) {
  const char* text = std::getenv("FAKE_NCCL");
  const std::string_view how = text == nullptr ? "" : text;
  if (how == "hang")
    while (true) pause();
  if (how == "fail") return kInvalidUsage;
  if (const char* path = std::getenv("NCCL_DEBUG_FILE")) {
    static std::FILE* const log = std::fopen(path, "w");
    std::fprintf(log,
                 "node:1:1 [0] NCCL INFO %s: %zu Bytes -> Algo RING proto %s "
                 "channel{Lo..Hi}={0..1}\n",
                 name, 4 * count, count > 1000 ? "SIMPLE" : "LL");
    std::fflush(log);
  }
  return nccl::Result::kSuccess;
}

}  // namespace

extern "C" {

nccl::Result ncclGetVersion(int* version) {
  *version = 22809;
  return nccl::Result::kSuccess;
}

const char* ncclGetErrorString(nccl::Result result) {
  return result == kInvalidUsage ? "invalid usage" : "another error";
}

nccl::Result ncclCommInitAll(nccl::Communicator** communicators, int count, const int*) {
  for (int i = 0; i < count; ++i)
    communicators[i] = reinterpret_cast<nccl::Communicator*>(static_cast<long>(i + 1));
  alive += count;
  return nccl::Result::kSuccess;
}

nccl::Result ncclGetUniqueId(nccl::UniqueId*) { return nccl::Result::kSuccess; }

nccl::Result ncclCommInitRankConfig(nccl::Communicator** communicator, int, nccl::UniqueId,
                                    int rank, nccl::Config* config) {
  if (config->max_ctas == 0) return kInvalidUsage;
  *communicator = reinterpret_cast<nccl::Communicator*>(static_cast<long>(rank + 1));
  ++alive;
  return nccl::Result::kSuccess;
}

nccl::Result ncclCommDestroy(nccl::Communicator*) {
  --alive;
  return nccl::Result::kSuccess;
}

int fakeNcclAlive() { return alive; }

nccl::Result ncclGroupStart() { return nccl::Result::kSuccess; }
nccl::Result ncclGroupEnd() { return nccl::Result::kSuccess; }

nccl::Result ncclAllReduce(const void*, void*, std::size_t count, nccl::DataType, nccl::Reduction,
                           nccl::Communicator*, cudaStream_t) {
  return collective("AllReduce", count);
}

nccl::Result ncclReduceScatter(const void*, void*, std::size_t count, nccl::DataType,
                               nccl::Reduction, nccl::Communicator*, cudaStream_t) {
  return collective("ReduceScatter", count);
}

nccl::Result ncclAllGather(const void*, void*, std::size_t count, nccl::DataType,
                           nccl::Communicator*, cudaStream_t) {
  return collective("AllGather", count);
}

nccl::Result ncclBroadcast(const void*, void*, std::size_t count, nccl::DataType, int,
                           nccl::Communicator*, cudaStream_t) {
  return collective("Broadcast", count);
}

nccl::Result ncclSend(const void*, std::size_t, nccl::DataType, int, nccl::Communicator*,
                      cudaStream_t) {
  return nccl::Result::kSuccess;
}

#ifndef FAKE_NCCL_OLD
nccl::Result ncclRecv(void*, std::size_t, nccl::DataType, int, nccl::Communicator*, cudaStream_t) {
  return nccl::Result::kSuccess;
}
#endif
}

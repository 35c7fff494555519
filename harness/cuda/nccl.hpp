#pragma once

// NCCL, loaded at run time and optional.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cuda/nccl_interface.hpp"

namespace peakline::cuda {

// The message says why NCCL cannot be used, and how to install it.
struct NcclUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct NcclError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// NCCL's algorithm and protocol for a collective ("RING", "LL128"), or its symmetric kernel
// ("AllReduce_AGxLL_R"), and its channels: thread blocks.
struct NcclChoice {
  std::string algorithm, protocol;
  std::optional<int> channels = {};
  std::string symmetric_kernel = {};

  bool operator==(const NcclChoice&) const = default;
};
// The last choice in NCCL's log; nullopt without one, or before NCCL 2.24, which logs numbers.
std::optional<NcclChoice> last_choice(std::string_view log);

class Nccl {
 public:
  // library: a file; empty: found by the loader, or PyTorch's in a Python on the PATH. Throws
  // NcclUnavailable.
  //
  // Sets environment variables of this process unless the user has: NCCL_NVLS_ENABLE=0, as NVLink
  // multicast takes resources of the whole NVSwitch domain, and a log into memory.
  explicit Nccl(const std::string& library = {});
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  std::string version() const;  // "2.28.9"
  // NCCL_NVLS_ENABLE: "0" unless the user set another value.
  static std::string nvls();

  // The choice for the latest collective since the last call; nullopt if the log lacks it or the
  // user has set NCCL_DEBUG.
  std::optional<NcclChoice> take_choice();

  // Throws NcclError unless the result is success.
  void check(nccl::Result result, const char* call) const;

  nccl::GetVersion* get_version = nullptr;
  nccl::GetErrorString* get_error_string = nullptr;
  nccl::CommInitAll* comm_init_all = nullptr;
  nccl::GetUniqueId* get_unique_id = nullptr;
  nccl::CommInitRankConfig* comm_init_rank_config = nullptr;  // nullptr before 2.18
  nccl::MemAlloc* mem_alloc = nullptr;                        // these four: before 2.27
  nccl::MemFree* mem_free = nullptr;
  nccl::CommWindowRegister* window_register = nullptr;
  nccl::CommWindowDeregister* window_deregister = nullptr;
  nccl::CommDestroy* comm_destroy = nullptr;
  nccl::GroupStart* group_start = nullptr;
  nccl::GroupEnd* group_end = nullptr;
  nccl::AllReduce* all_reduce = nullptr;
  nccl::ReduceScatter* reduce_scatter = nullptr;
  nccl::AllGather* all_gather = nullptr;
  nccl::Broadcast* broadcast = nullptr;
  nccl::Send* send = nullptr;
  nccl::Receive* receive = nullptr;

 private:
  void* handle_ = nullptr;
  int log_ = -1;  // an in-memory file
  std::size_t log_read_ = 0;
};

// One rank for each of these devices, in one process.
class NcclRanks {
 public:
  // nccl must outlive this. most_ctas: thread blocks of a collective on each device; 0: NCCL's
  // choice. Throws NcclError, and NcclUnavailable if the library cannot limit them.
  NcclRanks(const Nccl& nccl, std::span<const int> devices, int most_ctas = 0);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  int size() const { return static_cast<int>(communicators_.size()); }
  // Enqueues one operation on all ranks. Throws NcclError.
  void enqueue(const std::function<nccl::Result(int rank, nccl::Communicator*)>& of_rank) const;

  const Nccl& nccl() const { return nccl_; }
  std::span<const int> devices() const { return devices_; }

 private:
  void init_limited(std::span<const int> devices, int most_ctas);

  const Nccl& nccl_;
  std::vector<int> devices_;
  std::vector<nccl::Communicator*> communicators_;
};

// `bytes` of memory on each rank, registered for NCCL's symmetric kernels.
class NcclSymmetricMemory {
 public:
  // ranks must outlive this. Throws NcclError, and NcclUnavailable if the library has none.
  NcclSymmetricMemory(const NcclRanks& ranks, std::size_t bytes);
  ~NcclSymmetricMemory();
  NcclSymmetricMemory(const NcclSymmetricMemory&) = delete;
  NcclSymmetricMemory& operator=(const NcclSymmetricMemory&) = delete;

  void* of(std::size_t rank) const { return memory_[rank].get(); }

 private:
  const NcclRanks& ranks_;
  std::vector<std::unique_ptr<void, nccl::MemFree*>> memory_;
  std::vector<nccl::Window*> windows_;
};

}  // namespace peakline::cuda

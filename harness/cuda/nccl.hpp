#pragma once

// NCCL, loaded at run time: neither the build nor the other benchmarks need it.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cuda/nccl_interface.hpp"

namespace peakline::cuda {

// NCCL cannot be used: the message says why, and how to install it.
struct NcclUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A call of NCCL failed.
struct NcclError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How NCCL moves the data of a collective, in its own words: "RING", "LL128".
struct NcclChoice {
  std::string algorithm, protocol;

  bool operator==(const NcclChoice&) const = default;
};
// The last choice in NCCL's log; nullopt where there is none, or it has numbers for names, as that
// of NCCL before 2.24 has.
std::optional<NcclChoice> last_choice(std::string_view log);

class Nccl {
 public:
  // library: the file; empty: where the loader finds it, else the one that PyTorch brings along, of
  // a Python on the PATH. Throws NcclUnavailable.
  //
  // Sets variables of this process that NCCL reads, where the user has not: NCCL_NVLS_ENABLE=0,
  // since NVLink multicast takes resources of the whole NVSwitch domain, and its log into memory.
  explicit Nccl(const std::string& library = {});
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  std::string version() const;  // "2.28.9"
  // The value of NCCL_NVLS_ENABLE, "0" unless the user set another.
  static std::string nvls();

  // The choice for the latest collective since the last call; nullopt where the log does not tell
  // or NCCL_DEBUG is the user's.
  std::optional<NcclChoice> take_choice();

  // Throws NcclError unless the result is success.
  void check(nccl::Result result, const char* call) const;

  nccl::GetVersion* get_version = nullptr;
  nccl::GetErrorString* get_error_string = nullptr;
  nccl::CommInitAll* comm_init_all = nullptr;
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
  int log_ = -1;  // a file in memory
  std::size_t log_read_ = 0;
};

// A rank for each of these devices of the process.
class NcclRanks {
 public:
  // nccl must outlive this object. Throws NcclError.
  NcclRanks(const Nccl& nccl, std::span<const int> devices);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  int size() const { return static_cast<int>(communicators_.size()); }
  // Enqueues one operation of all ranks. Throws NcclError.
  void enqueue(const std::function<nccl::Result(int rank, nccl::Communicator*)>& of_rank) const;

 private:
  const Nccl& nccl_;
  std::vector<nccl::Communicator*> communicators_;
};

}  // namespace peakline::cuda

#include "harness/cuda/nccl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <system_error>

#include "harness/cuda/errors.hpp"
#include "harness/cuda/shared_library.hpp"

namespace peakline::cuda {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";
constexpr int kKeep = 0;  // setenv keeps the user's value
// From 2.9 on, a version is major x 10000 + minor x 100 + patch.
constexpr int kPerMajor = 10000, kPerMinor = 100;

std::string file_of(void* symbol) {
  Dl_info info{};
  const bool known = symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : kLibrary;
}

// The word after `key`, or "".
std::string_view word_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == text.npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find_first_of(" \n"));
}

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

bool is_name(std::string_view word) {
  return !word.empty() && (word.front() < '0' || word.front() > '9');
}

// Opens an in-memory file for the log; -1 if the user has set NCCL_DEBUG, or on failure.
int open_log() {
  if (std::getenv("NCCL_DEBUG") != nullptr) return -1;
  const int log = memfd_create("nccl-log", MFD_CLOEXEC);
  if (log < 0) return -1;
  setenv("NCCL_DEBUG", "INFO", kKeep);
  setenv("NCCL_DEBUG_SUBSYS", "TUNING", kKeep);
  setenv("NCCL_DEBUG_FILE", fmt::format("/proc/self/fd/{}", log).c_str(), kKeep);
  return log;
}

}  // namespace

std::optional<NcclChoice> last_choice(std::string_view log) {
  const auto at = log.rfind("Bytes -> ");
  if (at == log.npos) return std::nullopt;
  const std::string_view line = log.substr(at, log.find('\n', at) - at);
  if (const std::string_view kernel = word_after(line, "-> Kernel "); is_name(kernel))
    return NcclChoice{{}, {}, number_in(word_after(line, "nchannels ")), std::string(kernel)};
  const std::string_view algorithm = word_after(line, "Algo "),
                         protocol = word_after(line, "proto ");
  if (!is_name(algorithm) || !is_name(protocol)) return std::nullopt;
  NcclChoice choice{std::string(algorithm), std::string(protocol)};
  // "channel{Lo..Hi}={0..15}"
  const std::string_view range = word_after(line, "channel{Lo..Hi}={");
  const auto dots = range.find("..");
  if (dots == range.npos) return choice;
  const auto low = number_in(range.substr(0, dots)),
             high = number_in(range.substr(dots + 2, range.find('}') - dots - 2));
  if (low && high && *low <= *high) choice.channels = *high - *low + 1;
  return choice;
}

Nccl::Nccl(const std::string& library)
    : handle_(open_library(library.empty() ? kLibrary : library).handle) {
  if (handle_ == nullptr)
    throw NcclUnavailable(
        fmt::format("{} cannot be loaded: install NCCL (apt: libnccl2, pip: nvidia-nccl-cu13) or "
                    "add its folder to LD_LIBRARY_PATH",
                    library.empty() ? kLibrary : library));
  const auto load = [&](auto*& entry, const char* symbol) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(handle_, symbol));
    if (entry != nullptr) return;
    const std::string file = file_of(dlsym(handle_, "ncclGetVersion"));
    dlclose(handle_);
    throw NcclUnavailable(fmt::format("{} has no {}: NCCL 2.10 or newer is needed", file, symbol));
  };
  load(get_version, "ncclGetVersion");
  load(get_error_string, "ncclGetErrorString");
  load(comm_init_all, "ncclCommInitAll");
  load(get_unique_id, "ncclGetUniqueId");
  load(comm_destroy, "ncclCommDestroy");
  load(group_start, "ncclGroupStart");
  load(group_end, "ncclGroupEnd");
  load(all_reduce, "ncclAllReduce");
  load(reduce_scatter, "ncclReduceScatter");
  load(all_gather, "ncclAllGather");
  load(broadcast, "ncclBroadcast");
  load(send, "ncclSend");
  load(receive, "ncclRecv");
  const auto load_if_there = [&](auto*& entry, const char* symbol) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(handle_, symbol));
  };
  load_if_there(comm_init_rank_config, "ncclCommInitRankConfig");
  load_if_there(mem_alloc, "ncclMemAlloc");
  load_if_there(mem_free, "ncclMemFree");
  load_if_there(window_register, "ncclCommWindowRegister");
  load_if_there(window_deregister, "ncclCommWindowDeregister");
  // NCCL reads its environment at the first call.
  setenv("NCCL_NVLS_ENABLE", "0", kKeep);
  log_ = open_log();
}

Nccl::~Nccl() {
  // NCCL's threads may outlive its communicators, so the library stays loaded.
  if (log_ >= 0) close(log_);
}

void Nccl::check(nccl::Result result, const char* call) const {
  if (result == nccl::Result::kSuccess) return;
  throw NcclError(fmt::format("{}: {}", call, get_error_string(result)));
}

std::string Nccl::version() const {
  int version = 0;
  check(get_version(&version), "ncclGetVersion");
  return fmt::format("{}.{}.{}", version / kPerMajor, version % kPerMajor / kPerMinor,
                     version % kPerMinor);
}

std::string Nccl::nvls() { return std::getenv("NCCL_NVLS_ENABLE"); }

std::optional<NcclChoice> Nccl::take_choice() {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t count = 0;
  while (log_ >= 0 && (count = pread(log_, part.data(), part.size(), log_read_)) > 0) {
    text.append(part.data(), static_cast<std::size_t>(count));
    log_read_ += count;
  }
  return last_choice(text);
}

NcclRanks::NcclRanks(const Nccl& nccl, std::span<const int> devices, int most_ctas)
    : nccl_(nccl), devices_(devices.begin(), devices.end()), communicators_(devices.size()) {
  if (most_ctas != 0)
    init_limited(devices, most_ctas);
  else
    nccl.check(nccl.comm_init_all(communicators_.data(), size(), devices.data()),
               "ncclCommInitAll");
}

void NcclRanks::init_limited(std::span<const int> devices, int most_ctas) {
  if (nccl_.comm_init_rank_config == nullptr)
    throw NcclUnavailable(fmt::format(
        "NCCL {} cannot limit its thread blocks: 2.18 or newer is needed", nccl_.version()));
  nccl::UniqueId id{};
  nccl_.check(nccl_.get_unique_id(&id), "ncclGetUniqueId");
  nccl::Config config{.max_ctas = most_ctas};
  int before = 0;
  PEAKLINE_CUDA(cudaGetDevice(&before));
  nccl_.check(nccl_.group_start(), "ncclGroupStart");
  nccl::Result first = nccl::Result::kSuccess;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    cudaSetDevice(devices[rank]);
    const nccl::Result result = nccl_.comm_init_rank_config(&communicators_[rank], size(), id,
                                                            static_cast<int>(rank), &config);
    if (first == nccl::Result::kSuccess) first = result;
  }
  const nccl::Result ended = nccl_.group_end();
  cudaSetDevice(before);
  nccl_.check(first, "ncclCommInitRankConfig");
  nccl_.check(ended, "ncclGroupEnd");
}

NcclRanks::~NcclRanks() {
  for (nccl::Communicator* communicator : communicators_) nccl_.comm_destroy(communicator);
}

void NcclRanks::enqueue(
    const std::function<nccl::Result(int, nccl::Communicator*)>& of_rank) const {
  nccl_.check(nccl_.group_start(), "ncclGroupStart");
  nccl::Result first = nccl::Result::kSuccess;
  for (int rank = 0; rank < size(); ++rank) {
    const nccl::Result result = of_rank(rank, communicators_[static_cast<std::size_t>(rank)]);
    if (first == nccl::Result::kSuccess) first = result;
  }
  const nccl::Result ended = nccl_.group_end();  // also for a failed group
  nccl_.check(first, "an NCCL operation");
  nccl_.check(ended, "ncclGroupEnd");
}

NcclSymmetricMemory::NcclSymmetricMemory(const NcclRanks& ranks, std::size_t bytes)
    : ranks_(ranks), windows_(ranks.devices().size()) {
  const Nccl& nccl = ranks.nccl();
  if (nccl.window_register == nullptr || nccl.mem_alloc == nullptr)
    throw NcclUnavailable(
        fmt::format("NCCL {} has no symmetric memory: 2.27 or newer is needed", nccl.version()));
  int before = 0;
  PEAKLINE_CUDA(cudaGetDevice(&before));
  for (const int device : ranks.devices()) {
    cudaSetDevice(device);
    void* memory = nullptr;
    const nccl::Result result = nccl.mem_alloc(&memory, bytes);
    cudaSetDevice(before);
    nccl.check(result, "ncclMemAlloc");
    memory_.emplace_back(memory, nccl.mem_free);
  }
  ranks.enqueue([&](int rank, nccl::Communicator* communicator) {
    const auto i = static_cast<std::size_t>(rank);
    return nccl.window_register(communicator, memory_[i].get(), bytes, &windows_[i],
                                nccl::kSymmetric);
  });
}

NcclSymmetricMemory::~NcclSymmetricMemory() {
  try {
    ranks_.enqueue([&](int rank, nccl::Communicator* communicator) {
      return ranks_.nccl().window_deregister(communicator,
                                             windows_[static_cast<std::size_t>(rank)]);
    });
  } catch (const NcclError&) {  // what is left ends with the process
  }
}

}  // namespace peakline::cuda

#include "harness/cuda/cufile.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "harness/cuda/shared_library.hpp"

namespace peakline::cuda {
namespace {

using cufile::Code;
using cufile::Status;
using cufile::Switch;

constexpr const char* kLibrary = "libcufile.so.0";
constexpr int kKeep = 0;              // setenv keeps the user's value
constexpr Code kInvalidValue = 5022;  // CU_FILE_INVALID_VALUE: also for an unknown switch
// A version is major x 1000 + minor x 10.
constexpr int kPerMajor = 1000, kPerMinor = 10;

// Each of these bypasses GPUDirect. Later versions added the last two.
constexpr std::array kDetours = {Switch::kAllowCompatibility, Switch::kForceCompatibility,
                                 Switch::kPosix, Switch::kFallback};

struct Meaning {
  Code code;
  const char *name, *text;
};

// Causes that lie in the machine or the file; names as in cufile.h.
constexpr std::array kMeanings = {
    Meaning{5001, "CU_FILE_DRIVER_NOT_INITIALIZED",
            "nvidia-fs is not loaded, and there is no peer-to-peer DMA without it"},
    Meaning{5004, "CU_FILE_DRIVER_VERSION_MISMATCH", "nvidia-fs is of another version"},
    Meaning{5005, "CU_FILE_DRIVER_VERSION_READ_ERROR", "the version of nvidia-fs cannot be read"},
    Meaning{5007, "CU_FILE_PLATFORM_NOT_SUPPORTED", "not on this platform"},
    Meaning{5008, "CU_FILE_IO_NOT_SUPPORTED", "not from this file system and device"},
    Meaning{5009, "CU_FILE_DEVICE_NOT_SUPPORTED", "not to this GPU"},
    Meaning{5010, "CU_FILE_NVFS_DRIVER_ERROR", "nvidia-fs reports an error"},
    Meaning{5011, "CU_FILE_CUDA_DRIVER_ERROR", "the CUDA driver reports an error"},
    Meaning{5018, "CU_FILE_INVALID_FILE_TYPE", "not from this type of file"},
    Meaning{5019, "CU_FILE_INVALID_FILE_OPEN_FLAG", "the file is not open with O_DIRECT"},
    Meaning{5020, "CU_FILE_DIO_NOT_SET", "the file is not open with O_DIRECT"},
    Meaning{kInvalidValue, "CU_FILE_INVALID_VALUE", "an argument is refused"},
    Meaning{5025, "CU_FILE_PERMISSION_DENIED", "no permission"},
    Meaning{5030, "CU_FILE_INTERNAL_ERROR", "an internal error"},
    Meaning{5031, "CU_FILE_GETNEWFD_FAILED", "the file cannot be opened again"},
    Meaning{5033, "CU_FILE_NVFS_SETUP_ERROR", "cuFile cannot be set up"},
    Meaning{5034, "CU_FILE_IO_DISABLED", "cufile.json switches it off for this file"},
    Meaning{5036, "CU_FILE_GPU_MEMORY_PINNING_FAILED",
            "the GPU's memory cannot be mapped, for which its BAR1 may be too small"},
};

CuFileUnavailable refused(Code code) {
  return CuFileUnavailable("no GPUDirect Storage: " + cufile_error_text(code));
}

void check(Status status) {
  if (status.code != 0) throw refused(status.code);
}

}  // namespace

std::string cufile_error_text(Code code) {
  const auto found = std::ranges::find(kMeanings, code, &Meaning::code);
  if (found == kMeanings.end()) return fmt::format("cuFile's error {}", code);
  return fmt::format("{} ({})", found->text, found->name);
}

CuFile::CuFile(const std::string& library) {
  const std::string name = library.empty() ? kLibrary : library;
  void* const handle = open_library(name).handle;  // never closed: the library has threads
  if (handle == nullptr)
    throw CuFileUnavailable(
        fmt::format("no GPUDirect Storage: {} cannot be loaded: install it (apt: libcufile-13-0, "
                    "pip: nvidia-cufile) or add its folder to LD_LIBRARY_PATH",
                    name));
  const auto load = [&](auto*& entry, const char* symbol) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(handle, symbol));
    if (entry == nullptr)
      throw CuFileUnavailable(
          fmt::format("no GPUDirect Storage: {} has no {}: that of CUDA 12.9 or newer is needed",
                      name, symbol));
  };
  load(driver_open_, "cuFileDriverOpen");
  load(driver_close_, "cuFileDriverClose_v2");
  load(get_version_, "cuFileGetVersion");
  load(set_switch_, "cuFileSetParameterBool");
  load(get_switch_, "cuFileGetParameterBool");
  load(handle_register, "cuFileHandleRegister");
  load(handle_deregister, "cuFileHandleDeregister");
  load(buffer_register, "cuFileBufRegister");
  load(buffer_deregister, "cuFileBufDeregister");
  load(read, "cuFileRead");
  setenv("CUFILE_LOGFILE_PATH", "/dev/null", kKeep);
  allow_direct_alone();
  check(driver_open_());
  try {
    refuse_detours();
  } catch (...) {
    driver_close_();
    throw;
  }
}

CuFile::~CuFile() { driver_close_(); }

// Overrides the environment and cufile.json until the driver is opened.
void CuFile::allow_direct_alone() const {
  for (const Switch detour : kDetours)
    if (const Status status = set_switch_(detour, false); status.code != kInvalidValue)
      check(status);
  check(set_switch_(Switch::kPeerToPeer, true));
}

void CuFile::refuse_detours() const {
  for (const Switch detour : kDetours) {
    bool on = false;
    const Status status = get_switch_(detour, &on);
    if (status.code != kInvalidValue) check(status);
    if (on)
      throw CuFileUnavailable(
          "no GPUDirect Storage: cuFile insists on its compatibility mode, which reads by way of "
          "host memory");
  }
}

std::string CuFile::version() const {
  int version = 0;
  check(get_version_(&version));
  return fmt::format("{}.{}", version / kPerMajor, version % kPerMajor / kPerMinor);
}

CuFileHandle::CuFileHandle(const CuFile& cufile, int descriptor) : cufile_(cufile) {
  cufile::Description description;
  description.descriptor = descriptor;
  check(cufile.handle_register(&file_, &description));
}

CuFileHandle::~CuFileHandle() { cufile_.handle_deregister(file_); }

std::string CuFileHandle::read(void* registered, std::size_t memory_offset, std::size_t bytes,
                               std::uint64_t offset) const {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n =
        cufile_.read(file_, registered, bytes - done, static_cast<off_t>(offset + done),
                     static_cast<off_t>(memory_offset + done));
    if (n == -1) return std::strerror(errno);
    if (n < 0) return cufile_error_text(static_cast<Code>(-n));
    if (n == 0) return "the file ends";
    done += static_cast<std::size_t>(n);
  }
  return "";
}

CuFileBuffer::CuFileBuffer(const CuFile& cufile, void* device_memory, std::size_t bytes)
    : cufile_(cufile), memory_(device_memory) {
  check(cufile.buffer_register(device_memory, bytes, 0));
}

CuFileBuffer::~CuFileBuffer() { cufile_.buffer_deregister(memory_); }

}  // namespace peakline::cuda

#pragma once

// cuFile, the library of GPUDirect Storage, loaded at run time and optional.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "harness/cuda/cufile_interface.hpp"

namespace peakline::cuda {

// The message says why GPUDirect Storage cannot be used.
struct CuFileUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Describes an error of cuFile: "nvidia-fs is not loaded, ... (CU_FILE_DRIVER_NOT_INITIALIZED)".
std::string cufile_error_text(cufile::Code code);

// The library with its driver open; one user at a time per process.
class CuFile {
 public:
  // library: a file; empty: found by the loader, in a toolkit or in NVIDIA's wheel. Throws
  // CuFileUnavailable.
  //
  // Changes settings of the process: disables reads by way of host memory, such as cuFile's
  // compatibility mode, and throws if they stay enabled; enables the kernel's peer-to-peer DMA
  // beside nvidia-fs; sets CUFILE_LOGFILE_PATH unless the user has, to avoid a cufile.log in the
  // current folder.
  explicit CuFile(const std::string& library = {});
  ~CuFile();
  CuFile(const CuFile&) = delete;
  CuFile& operator=(const CuFile&) = delete;

  std::string version() const;  // "1.15"

  cufile::HandleRegister* handle_register = nullptr;
  cufile::HandleDeregister* handle_deregister = nullptr;
  cufile::BufferRegister* buffer_register = nullptr;
  cufile::BufferDeregister* buffer_deregister = nullptr;
  cufile::Read* read = nullptr;

 private:
  void allow_direct_alone() const;
  void refuse_detours() const;

  cufile::DriverOpen* driver_open_ = nullptr;
  cufile::DriverClose* driver_close_ = nullptr;
  cufile::GetVersion* get_version_ = nullptr;
  cufile::SetSwitch* set_switch_ = nullptr;
  cufile::GetSwitch* get_switch_ = nullptr;
};

class CuFileHandle {
 public:
  // descriptor: opened with O_DIRECT. Both arguments must outlive this. Throws CuFileUnavailable.
  CuFileHandle(const CuFile& cufile, int descriptor);
  ~CuFileHandle();
  CuFileHandle(const CuFileHandle&) = delete;
  CuFileHandle& operator=(const CuFileHandle&) = delete;

  // Reads bytes [offset, offset + bytes) of the file to `memory_offset` in the device memory of a
  // CuFileBuffer, and waits. Returns an error or "". Threads may call it concurrently if each has
  // made the memory's device current.
  std::string read(void* registered, std::size_t memory_offset, std::size_t bytes,
                   std::uint64_t offset) const;

 private:
  const CuFile& cufile_;
  cufile::File* file_ = nullptr;
};

// Device memory registered with storage.
class CuFileBuffer {
 public:
  // Arguments must outlive this. Throws CuFileUnavailable.
  CuFileBuffer(const CuFile& cufile, void* device_memory, std::size_t bytes);
  ~CuFileBuffer();
  CuFileBuffer(const CuFileBuffer&) = delete;
  CuFileBuffer& operator=(const CuFileBuffer&) = delete;

  void* data() const { return memory_; }

 private:
  const CuFile& cufile_;
  void* memory_;
};

}  // namespace peakline::cuda

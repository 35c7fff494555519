#pragma once

// cuFile, the library of GPUDirect Storage, loaded at run time: neither the build nor the other
// benchmarks need it.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "harness/cuda/cufile_interface.hpp"

namespace peakline::cuda {

// GPUDirect Storage cannot be used: the message says why.
struct CuFileUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Explains an error of cuFile, with its name: "nvidia-fs is not loaded, ...
// (CU_FILE_DRIVER_NOT_INITIALIZED)".
std::string cufile_error_text(cufile::Code code);

// The library with its driver open, for one user at a time in a process.
class CuFile {
 public:
  // library: the file; empty: where the loader finds it, else of an installed toolkit or NVIDIA's
  // wheel. Throws CuFileUnavailable.
  //
  // Switches off all that would read by way of host memory, cuFile's compatibility mode above all,
  // and refuses to go on where that stays on: what is read then is read into the GPU's memory by
  // the storage itself. Also allows the kernel's peer-to-peer DMA, without which there is only
  // nvidia-fs. These are settings of this process. Sets CUFILE_LOGFILE_PATH, unless the user has,
  // so that no cufile.log appears in the current folder; nothing else reads it.
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

// A file that cuFile reads.
class CuFileHandle {
 public:
  // descriptor: opened with O_DIRECT. Both must outlive this object. Throws CuFileUnavailable.
  CuFileHandle(const CuFile& cufile, int descriptor);
  ~CuFileHandle();
  CuFileHandle(const CuFileHandle&) = delete;
  CuFileHandle& operator=(const CuFileHandle&) = delete;

  // Reads bytes [offset, offset + bytes) of the file to device memory that a CuFileBuffer has
  // registered, beginning so many bytes behind its start; waits. Returns what went wrong, or "".
  // May be called by several threads, each of which has made the memory's device current.
  std::string read(void* registered, std::size_t memory_offset, std::size_t bytes,
                   std::uint64_t offset) const;

 private:
  const CuFile& cufile_;
  cufile::File* file_ = nullptr;
};

// Device memory that storage writes to.
class CuFileBuffer {
 public:
  // Both must outlive this object. Throws CuFileUnavailable.
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

#pragma once

// The part of cuFile's ABI that is used, so that builds do not need cuFile. Names and values:
// cufile.h from CUDA 12.9 on (https://docs.nvidia.com/gpudirect-storage/api-reference-guide).

#include <sys/types.h>

#include <cstddef>

namespace peakline::cuda::cufile {

// CUfileOpError: 0, or above 5000.
using Code = int;

// CUfileError_t
struct Status {
  Code code = 0;
  int cuda_code = 0;  // CUresult, if the code reports a failed driver call
};

// CUFileBoolConfigParameter_t
enum class Switch : int {
  kAllowCompatibility = 1,
  kForceCompatibility = 2,
  kPeerToPeer = 7,  // CUFILE_PARAM_USE_PCIP2PDMA
  kPosix = 12,
  kFallback = 13,
};

// CUfileDescr_t
struct Description {
  int type = 1;  // CU_FILE_HANDLE_TYPE_OPAQUE_FD
  union {
    int descriptor;
    void* pointer = nullptr;
  };
  const void* operations = nullptr;
};

struct File;  // target of CUfileHandle_t

using DriverOpen = Status();
using DriverClose = Status();  // cuFileDriverClose_v2
using GetVersion = Status(int* version);
using SetSwitch = Status(Switch, bool value);
using GetSwitch = Status(Switch, bool* value);
using HandleRegister = Status(File** file, Description*);
using HandleDeregister = void(File*);
using BufferRegister = Status(const void* device_memory, std::size_t bytes, int flags);
using BufferDeregister = Status(const void* device_memory);
// Returns bytes read, -1 with errno, or a negative Code.
using Read = ssize_t(File*, void* device_memory, std::size_t bytes, off_t file_offset,
                     off_t memory_offset);

}  // namespace peakline::cuda::cufile

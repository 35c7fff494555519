// A libcufile for tests without GPUs: it "reads" into host memory. Environment:
//   FAKE_CUFILE=open:CODE      the driver does not open
//   FAKE_CUFILE=file:CODE      the file is refused
//   FAKE_CUFILE=memory:CODE    device memory is refused
//   FAKE_CUFILE=read:CODE      a read fails, with errno for a CODE below 5000
//   FAKE_CUFILE=insist:1       compatibility mode stays on
// Compatibility mode is on unless switched off before the driver opens. FAKE_CUFILE_OLD: no
// switches, as before CUDA 12.9.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/cuda/cufile_interface.hpp"

namespace cufile = peakline::cuda::cufile;

namespace {

constexpr cufile::Status kSuccess, kInvalidValue{.code = 5022};
constexpr int kSwitches = 12;  // as in CUDA 13.0
constexpr std::size_t kMostAtOnce = 1000;
// Enabled switches; the driver takes them when it opens.
std::array<bool, kSwitches> staged = {false, true};
std::array<bool, kSwitches> current = {};
int open_drivers = 0, files = 0, buffers = 0;

// The number after "what:" in the environment, or 0.
int code_of(std::string_view what) {
  const char* text = std::getenv("FAKE_CUFILE");
  const std::string_view how = text == nullptr ? "" : text;
  if (!how.starts_with(what) || how.size() <= what.size()) return 0;
  return std::atoi(text + what.size() + 1);
}

}  // namespace

extern "C" {

int fakeCuFileLeft() { return open_drivers + files + buffers; }

cufile::Status cuFileGetVersion(int* version) {
  *version = 1150;
  return kSuccess;
}

cufile::Status cuFileDriverOpen() {
  if (const int code = code_of("open")) return {.code = code};
  current = staged;
  staged = {false, true};
  ++open_drivers;
  return kSuccess;
}

cufile::Status cuFileDriverClose_v2() {
  --open_drivers;
  return kSuccess;
}

#ifndef FAKE_CUFILE_OLD
cufile::Status cuFileSetParameterBool(cufile::Switch which, bool value) {
  const auto index = static_cast<std::size_t>(which);
  if (index >= kSwitches) return kInvalidValue;
  if (code_of("insist") == 0) staged[index] = value;
  return kSuccess;
}
#endif

cufile::Status cuFileGetParameterBool(cufile::Switch which, bool* value) {
  const auto index = static_cast<std::size_t>(which);
  if (index >= kSwitches) return kInvalidValue;
  *value = current[index];
  return kSuccess;
}

cufile::Status cuFileHandleRegister(cufile::File** file, cufile::Description* description) {
  if (const int code = code_of("file")) return {.code = code};
  if (description->type != 1 || description->operations != nullptr) return kInvalidValue;
  *file = reinterpret_cast<cufile::File*>(static_cast<long>(description->descriptor));
  ++files;
  return kSuccess;
}

void cuFileHandleDeregister(cufile::File*) { --files; }

cufile::Status cuFileBufRegister(const void*, std::size_t, int) {
  if (const int code = code_of("memory")) return {.code = code};
  ++buffers;
  return kSuccess;
}

cufile::Status cuFileBufDeregister(const void*) {
  --buffers;
  return kSuccess;
}

ssize_t cuFileRead(cufile::File* file, void* memory, std::size_t bytes, off_t file_offset,
                   off_t memory_offset) {
  if (const int code = code_of("read")) {
    errno = code;
    return code < 5000 ? -1 : -code;
  }
  return pread(static_cast<int>(reinterpret_cast<long>(file)),
               static_cast<char*>(memory) + memory_offset, std::min(bytes, kMostAtOnce),
               file_offset);
}
}

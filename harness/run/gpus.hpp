#pragma once

// The machine's GPUs for the coordinator: by NVML, without a CUDA context.

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/values/facts.hpp"

namespace peakline::bench {

// Whether this build can measure GPUs, and if not, why: "no NVIDIA driver here (nvidia-smi)".
bool built_with_cuda();
std::string why_without_cuda();

class Gpus {
 public:
  // Never throws: `why_none` says in one line why no GPU can be reached.
  Gpus();
  ~Gpus();

  const std::string& why_none() const { return why_none_; }
  // In PCI bus order. `unusable` says why a device cannot be measured, for example a driver older
  // than this build's CUDA.
  const std::vector<DeviceFacts>& devices() const { return devices_; }

  // Adds the versions of driver and CUDA driver API.
  void add_driver(SoftwareFacts& software) const;

  // Read counters, foreign processes and Xid errors before and after the device's workers run.
  void read_before(DeviceFacts& device);
  void read_after(DeviceFacts& device, const std::set<pid_t>& own_pids);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::string why_none_;
  std::vector<DeviceFacts> devices_;
};

}  // namespace peakline::bench

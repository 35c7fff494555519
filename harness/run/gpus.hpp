#pragma once

// The GPUs of the machine as the coordinator sees them: through NVML alone, with no CUDA context.

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/values/facts.hpp"

namespace peakline::bench {

// Whether this build can measure GPUs; else why not, or what to do about it: "no NVIDIA driver on
// this machine".
bool built_with_cuda();
std::string why_without_cuda();

class Gpus {
 public:
  // Never throws: where no GPU can be reached, `why_none` says it in one line.
  Gpus();
  ~Gpus();

  const std::string& why_none() const { return why_none_; }
  // Devices in PCI bus order. Those that cannot be measured say so in `unusable`, also if the
  // driver is older than the CUDA this build needs.
  const std::vector<DeviceFacts>& devices() const { return devices_; }

  // Puts in the versions of driver and CUDA driver API.
  void add_driver(SoftwareFacts& software) const;

  // Call them before and after the device's workers run: counters, processes other than `own_pids`,
  // and Xid errors in between.
  void read_before(DeviceFacts& device);
  void read_after(DeviceFacts& device, const std::set<pid_t>& own_pids);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::string why_none_;
  std::vector<DeviceFacts> devices_;
};

}  // namespace peakline::bench

#include "harness/run/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/run/build_facts.hpp"
#include "harness/values/text.hpp"
#ifdef PEAKLINE_HAS_CUDA
#include "harness/cuda/nvml.hpp"
#endif

namespace peakline::bench {

std::string why_without_cuda() {
  std::error_code error;
  for (const char* file : {"/dev/nvidiactl", "/proc/driver/nvidia/version"})
    if (std::filesystem::exists(file, error))
      return "this build measures no GPUs: build it again with -DPEAKLINE_CUDA=ON";
  return "no NVIDIA driver here (nvidia-smi)";
}

#ifdef PEAKLINE_HAS_CUDA

bool built_with_cuda() { return true; }

struct Gpus::Library {
  cuda::Nvml nvml;
};

namespace {

// "13.0" -> 13; 0 without a number.
int major_version(const std::string& version) { return std::atoi(version.c_str()); }

void add_processes(DeviceFacts& device, const std::vector<DeviceProcess>& found,
                   const std::set<pid_t>& own_pids) {
  for (const DeviceProcess& process : found) {
    const bool known = std::any_of(device.processes.begin(), device.processes.end(),
                                   [&](const DeviceProcess& p) { return p.pid == process.pid; });
    if (!known && !own_pids.contains(static_cast<pid_t>(process.pid))) {
      device.processes.push_back(process);
      device.processes.back().name = printable(process.name);
    }
  }
}

}  // namespace

Gpus::Gpus() {
  try {
    library_ = std::make_unique<Library>();
    devices_ = library_->nvml.devices();
  } catch (const cuda::NvmlUnavailable& error) {
    why_none_ = error.what();
    return;
  }
  for (DeviceFacts& device : devices_) {
    // A device that may not be opened has only an index; records need a name.
    if (device.uuid.empty()) device.uuid = fmt::format("index:{}", device.index);
  }
  if (devices_.empty()) why_none_ = "the NVIDIA driver finds no device";
  // CUDA programs run on drivers of their major version or later.
  const std::string needed = build_facts().cuda_runtime;
  const std::string offered = library_->nvml.cuda_driver_version();
  if (major_version(offered) >= major_version(needed)) return;
  for (DeviceFacts& device : devices_) {
    if (!device.unusable.empty()) continue;
    device.unusable = fmt::format(
        "the driver ({}) supports CUDA {} at most, but this build needs CUDA {}: update "
        "the driver",
        library_->nvml.driver_version(), offered, needed);
  }
}

void Gpus::add_driver(SoftwareFacts& software) const {
  if (!library_) return;
  software.driver = library_->nvml.driver_version();
  software.cuda_driver_api = library_->nvml.cuda_driver_version();
}

void Gpus::read_before(DeviceFacts& device) {
  try {
    device.before = library_->nvml.health(device.uuid);
    add_processes(device, library_->nvml.processes(device.uuid), {});
    library_->nvml.watch_xids({device.uuid});
  } catch (const cuda::NvmlUnavailable& error) {
    if (device.unusable.empty()) device.unusable = error.what();
  }
}

void Gpus::read_after(DeviceFacts& device, const std::set<pid_t>& own_pids) {
  try {
    device.xids = library_->nvml.xids(device.uuid);
    device.after = library_->nvml.health(device.uuid);
    add_processes(device, library_->nvml.processes(device.uuid), own_pids);
  } catch (const cuda::NvmlUnavailable&) {
    // A device that fell off the bus cannot be read; failed measurements show it.
  }
}

#else

bool built_with_cuda() { return false; }

struct Gpus::Library {};

Gpus::Gpus() : why_none_(why_without_cuda()) {}
void Gpus::add_driver(SoftwareFacts&) const {}
void Gpus::read_before(DeviceFacts&) {}
void Gpus::read_after(DeviceFacts&, const std::set<pid_t>&) {}

#endif

Gpus::~Gpus() = default;

}  // namespace peakline::bench

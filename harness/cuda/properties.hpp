#pragma once

// Turns what the CUDA runtime and the kernel say of a device into its facts. Needs no runtime, so
// that other devices can be tried on a machine without one.

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "harness/values/facts.hpp"

namespace peakline::cuda {

// Named and counted as in cudaDeviceProp and cudaDeviceAttr; 0: the runtime does not know.
struct RuntimeProperties {
  std::array<unsigned char, 16> uuid = {};
  std::string name;
  int pci_domain = 0, pci_bus = 0, pci_slot = 0;  // pciDeviceID is the slot, not the product
  int major = 0, minor = 0;
  int multi_processor_count = 0;
  int clock_rate_khz = 0, memory_clock_rate_khz = 0;
  int memory_bus_width_bits = 0;
  double total_global_mem_bytes = 0, free_bytes = 0;
  double l2_cache_size_bytes = 0, shared_mem_per_multiprocessor_bytes = 0;
  bool integrated = false;
};

// visible: CUDA_VISIBLE_DEVICES. Where it names a MIG instance, the UUID is that of the instance.
DeviceFacts facts_of(const RuntimeProperties& properties, std::string_view visible);

// NVML's facts about the device of that UUID, completed by those of the runtime and the kernel.
// of_nvml: all devices; if none fits, the runtime's facts stand alone.
DeviceFacts combined(const DeviceFacts& of_runtime, std::span<const DeviceFacts> of_nvml,
                     const std::filesystem::path& sysfs = "/sys");

}  // namespace peakline::cuda

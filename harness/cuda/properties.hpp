#pragma once

// Facts from values of the CUDA runtime and the kernel; testable without either.

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "harness/values/facts.hpp"

namespace peakline::cuda {

// As in cudaDeviceProp and cudaDeviceAttr; 0: unknown.
struct RuntimeProperties {
  std::array<unsigned char, 16> uuid = {};
  std::string name;
  int pci_domain = 0, pci_bus = 0,
      pci_slot = 0;  // the slot is pciDeviceID, which is not the product
  int major = 0, minor = 0;
  int multi_processor_count = 0;
  int clock_rate_khz = 0, memory_clock_rate_khz = 0;
  int memory_bus_width_bits = 0;
  double total_global_mem_bytes = 0, free_bytes = 0;
  double l2_cache_size_bytes = 0, shared_mem_per_multiprocessor_bytes = 0;
  bool integrated = false;
};

// visible: CUDA_VISIBLE_DEVICES; if it names a MIG instance, so does the UUID.
DeviceFacts facts_of(const RuntimeProperties& properties, std::string_view visible);

// NVML's facts about the runtime's device, completed by runtime and kernel. of_nvml: all devices;
// without a match the runtime's facts are returned.
DeviceFacts combined(const DeviceFacts& of_runtime, std::span<const DeviceFacts> of_nvml,
                     const std::filesystem::path& sysfs = "/sys");

}  // namespace peakline::cuda

#pragma once

// Facts that Linux has about a PCI device. bus_id: "0000:3b:00.0", also with NVML's eight-digit
// domain and in capitals; sysfs: where its file system is mounted. nullopt: unknown, or this user
// may not read it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "harness/values/facts.hpp"

namespace peakline::cuda {

// The NUMA node that the device is attached to.
std::optional<int> numa_node_of(const std::string& bus_id,
                                const std::filesystem::path& sysfs = "/sys");

// The largest payload of a packet that the device is configured for, in bytes.
std::optional<int> max_payload_of(const std::string& bus_id,
                                  const std::filesystem::path& sysfs = "/sys");

// Puts in the ids of product and board where they are not known and the device has a bus id.
void complete_pci_ids(DeviceFacts& device, const std::filesystem::path& sysfs = "/sys");

// Reads the payload from a PCI configuration space (PCI Express Base Specification, 7.5.3.4: bits
// 7:5 of the Device Control register). nullopt if the space is cut off or has no PCI Express
// capability.
std::optional<int> max_payload_in(std::span<const std::uint8_t> configuration);

}  // namespace peakline::cuda

#pragma once

// Linux's facts about a PCI device. bus_id: "0000:3b:00.0"; NVML's eight-digit domain and capitals
// are accepted. sysfs: mount point. nullopt: unknown, or unreadable for this user.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "harness/values/facts.hpp"

namespace peakline::cuda {

std::optional<int> numa_node_of(const std::string& bus_id, const std::filesystem::path& sysfs);

// Configured largest payload of a packet, bytes.
std::optional<int> max_payload_of(const std::string& bus_id,
                                  const std::filesystem::path& sysfs = "/sys");

// Fills in unknown ids of product and board, given a bus id.
void complete_pci_ids(DeviceFacts& device, const std::filesystem::path& sysfs);

// Parses a PCI configuration space (PCI Express Base Specification 7.5.3.4: Device Control, bits
// 7:5). nullopt if it is truncated or lacks the PCI Express capability.
std::optional<int> max_payload_in(std::span<const std::uint8_t> configuration);

}  // namespace peakline::cuda

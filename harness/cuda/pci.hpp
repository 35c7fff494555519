#pragma once

// What Linux knows of a PCI device (sysfs). bus_id: "0000:3b:00.0", also with NVML's eight-digit
// domain and in capitals. nullopt: not known, or this user may not read it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace peakline::cuda {

// The NUMA node that the device is attached to.
std::optional<int> numa_node_of(const std::string& bus_id);

// The largest payload of a packet that the device is configured for, in bytes.
std::optional<int> max_payload_of(const std::string& bus_id);

// The same from a PCI configuration space (PCI Express Base Specification, 7.5.3.4: bits 7:5 of the
// Device Control register). nullopt where it is cut off or has no PCI Express capability.
std::optional<int> max_payload_in(std::span<const std::uint8_t> configuration);

}  // namespace peakline::cuda

#include "harness/cuda/pci.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <vector>

namespace peakline::cuda {
namespace {

std::filesystem::path file_of(std::string bus_id, const char* name,
                              const std::filesystem::path& sysfs) {
  if (bus_id.size() > 12) bus_id.erase(0, bus_id.size() - 12);
  for (char& c : bus_id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return sysfs / "bus/pci/devices" / bus_id / name;
}

// The files hold "0x10de" and "0x2335". "" where unreadable or 0.
std::string id_of(const std::string& bus_id, const char* vendor_file, const char* device_file,
                  const std::filesystem::path& sysfs) {
  const auto read = [&](const char* name) {
    unsigned value = 0;
    std::ifstream(file_of(bus_id, name, sysfs)) >> std::hex >> value;
    return value;
  };
  const unsigned vendor = read(vendor_file), device = read(device_file);
  return vendor == 0 || device == 0 ? std::string() : fmt::format("{:04x}:{:04x}", vendor, device);
}

}  // namespace

std::optional<int> numa_node_of(const std::string& bus_id, const std::filesystem::path& sysfs) {
  std::ifstream file(file_of(bus_id, "numa_node", sysfs));
  int node = -1;
  // -1: one node, or unknown.
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

std::optional<int> max_payload_of(const std::string& bus_id, const std::filesystem::path& sysfs) {
  std::ifstream file(file_of(bus_id, "config", sysfs), std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  return max_payload_in({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

void complete_pci_ids(DeviceFacts& device, const std::filesystem::path& sysfs) {
  if (device.pci_bus_id.empty()) return;
  if (device.pci_device_id.empty())
    device.pci_device_id = id_of(device.pci_bus_id, "vendor", "device", sysfs);
  if (device.pci_subsystem_id.empty())
    device.pci_subsystem_id =
        id_of(device.pci_bus_id, "subsystem_vendor", "subsystem_device", sysfs);
}

std::optional<int> max_payload_in(std::span<const std::uint8_t> configuration) {
  constexpr std::size_t kFirstCapability = 0x34, kDeviceControl = 8;
  constexpr std::uint8_t kPciExpress = 0x10;
  // Upper bound: each takes at least 4 of 192 bytes.
  constexpr int kMostCapabilities = 48;
  constexpr int kSmallestPayload = 128, kLargestCode = 5;
  const auto byte = [&](std::size_t at) -> std::optional<std::uint8_t> {
    if (at >= configuration.size()) return std::nullopt;
    return configuration[at];
  };
  auto at = byte(kFirstCapability);
  for (int i = 0; i < kMostCapabilities && at && *at != 0; ++i) {
    if (byte(*at) == kPciExpress) {
      const auto control = byte(std::size_t{*at} + kDeviceControl);
      if (!control) return std::nullopt;
      const int code = *control >> 5;
      if (code > kLargestCode) return std::nullopt;
      return kSmallestPayload << code;
    }
    at = byte(std::size_t{*at} + 1);
  }
  return std::nullopt;
}

}  // namespace peakline::cuda

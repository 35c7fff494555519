#include "harness/values/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "harness/values/units.hpp"

namespace peakline {

void merge(DeviceFacts& into, const DeviceFacts& other) {
  const auto complete = [](auto& value, const auto& known) {
    if (!value) value = known;
  };
  const auto complete_text = [](std::string& text, const std::string& known) {
    if (text.empty()) text = known;
  };
  complete_text(into.uuid, other.uuid);
  complete_text(into.name, other.name);
  complete_text(into.pci_bus_id, other.pci_bus_id);
  complete_text(into.pci_device_id, other.pci_device_id);
  complete_text(into.pci_subsystem_id, other.pci_subsystem_id);
  complete_text(into.vbios, other.vbios);
  if (into.compute_major == 0) {
    into.compute_major = other.compute_major;
    into.compute_minor = other.compute_minor;
  }
  complete(into.sm_count, other.sm_count);
  complete(into.sm_clock_max_hz, other.sm_clock_max_hz);
  complete(into.memory_clock_max_hz, other.memory_clock_max_hz);
  complete(into.sm_clock_step_hz, other.sm_clock_step_hz);
  complete(into.memory_bus_bits, other.memory_bus_bits);
  complete(into.memory_bytes, other.memory_bytes);
  complete(into.memory_free_bytes, other.memory_free_bytes);
  complete(into.l2_bytes, other.l2_bytes);
  complete(into.shared_per_sm_bytes, other.shared_per_sm_bytes);
  complete(into.ecc_enabled, other.ecc_enabled);
  complete(into.mig_enabled, other.mig_enabled);
  complete(into.integrated, other.integrated);
  complete_text(into.confidential_computing, other.confidential_computing);
  complete_text(into.fabric, other.fabric);
  complete(into.power_limit_w, other.power_limit_w);
  complete(into.power_limit_default_w, other.power_limit_default_w);
  complete(into.power_limit_max_w, other.power_limit_max_w);
  complete(into.numa_node, other.numa_node);
  complete(into.c2c, other.c2c);
}

std::optional<double> highest_sm_clock_hz(const DeviceFacts& device) {
  return device.sm_clock_seen_max_hz ? device.sm_clock_seen_max_hz : device.sm_clock_max_hz;
}

std::string_view host_link_name(const DeviceFacts& gpu) {
  if (gpu.c2c) return "NVLink-C2C";
  return gpu.integrated.value_or(false) ? "Host memory" : "PCIe";
}

std::string host_link_resource(const DeviceFacts& gpu, std::string_view direction) {
  return (gpu.c2c ? "c2c." : "pcie.") + std::string(direction);
}

bool share_host_side(const DeviceFacts& one, const DeviceFacts& other) {
  if (one.index == other.index) return true;
  if (one.numa_node && other.numa_node) return one.numa_node == other.numa_node;
  return std::ranges::any_of(one.peers, [&](const PeerFacts& peer) {
    return peer.index == other.index && !peer.path.empty() && peer.path != "SYS";
  });
}

std::vector<std::string> other_users(const DeviceFacts& gpu) {
  std::vector<std::string> names;
  for (const DeviceProcess& process : gpu.processes) {
    if (is_mps_server(process)) continue;
    const std::string name = process.name.empty() ? "unnamed process" : process.name;
    names.push_back(process.pid == 0 ? fmt::format("process {} (name left out)", names.size() + 1)
                                     : fmt::format("{} ({})", name, process.pid));
  }
  return names;
}

std::size_t beyond_l2(const DeviceFacts& device, std::size_t bytes, double l2s) {
  const double mib = std::ceil(l2s * device.l2_bytes.value_or(0) / kMiB);
  return std::max(bytes, static_cast<std::size_t>(mib) << 20);
}

int nvlinks_to(const DeviceFacts& gpu, std::optional<int> index) {
  int links = 0;
  for (const PeerFacts& peer : gpu.peers) {
    if (index && peer.index != *index) continue;
    // Through a switch, every link leads to all peers.
    links = gpu.nvlinks.to_switch.value_or(false) ? std::max(links, peer.nvlinks)
                                                  : links + peer.nvlinks;
  }
  return links;
}

bool in_container(const HostFacts& host) {
  static constexpr std::array kContainers = {"docker",     "podman", "lxc",      "containerd",
                                             "kubernetes", "oci",    "container"};
  return std::ranges::any_of(kContainers, [&](std::string_view name) {
    return host.virtualization.find(name) != std::string::npos;
  });
}

bool in_virtual_machine(const HostFacts& host) {
  // Examples: "kvm", "docker", "kvm, docker".
  return !host.virtualization.empty() &&
         (!in_container(host) || host.virtualization.find(',') != std::string::npos);
}

}  // namespace peakline

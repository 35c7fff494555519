#include "harness/show/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/hardware/spec.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::vector<std::string> traits_of(const DeviceFacts& d) {
  std::vector<std::string> parts;
  if (d.mig_enabled.value_or(false)) parts.emplace_back("MIG slice");
  if (d.sm_count) {
    parts.push_back(fmt::format("{} SMs", *d.sm_count));
    if (d.sm_clock_max_hz) parts.back() += ", " + format_clock(*d.sm_clock_max_hz);
  }
  if (d.memory_bytes) parts.push_back(format_size(*d.memory_bytes));
  if (d.power_limit_w) parts.push_back(fmt::format("{:.0f} W", *d.power_limit_w));
  if (d.c2c) {
    parts.emplace_back(host_link_name(d));
    if (d.c2c->count && d.c2c->bytes_per_s)
      parts.back() += " " + format_rate(*d.c2c->count * *d.c2c->bytes_per_s, "B/s");
  } else if (d.pcie.generation && d.pcie.width && d.pcie_read_under_load) {
    parts.push_back(fmt::format("PCIe {}.0 x{}", *d.pcie.generation, *d.pcie.width));
  }
  if (const NvLinks& links = d.nvlinks; links.up() > 0) {
    parts.push_back(fmt::format("{} NVLinks", links.up()));
    if (const auto payload = nvlink_payload_bandwidth(links))
      parts.back() += " of " + format_rate(*payload, "B/s");
    else if (links.bytes_per_s)
      parts.back() += fmt::format(" of {} raw", format_rate(*links.bytes_per_s, "B/s"));
  }
  if (d.ecc_enabled) parts.emplace_back(*d.ecc_enabled ? "ECC on" : "ECC off");
  return parts;
}

std::vector<std::string> traits_of(const HostFacts& host) {
  std::vector<std::string> parts;
  if (!host.cpu_model.empty()) parts.push_back(host.cpu_model);
  if (host.cores) parts.push_back(fmt::format("{} cores", *host.cores));
  if (!host.vector_extension.empty()) parts.push_back(host.vector_extension);
  return parts;
}

std::vector<std::string> traits_of_node(const Profile& profile) {
  const auto switched = [](const DeviceFacts& gpu) { return gpu.nvlinks.to_switch; };
  const bool links = std::ranges::any_of(
      profile.devices, [](const DeviceFacts& gpu) { return nvlinks_to(gpu, std::nullopt) > 0; });
  const bool through_switch = std::ranges::all_of(
      profile.devices, [&](const DeviceFacts& gpu) { return switched(gpu).value_or(false); });
  return {format_count(std::ssize(profile.devices), "GPU"), !links           ? "no NVLinks"
                                                            : through_switch ? "NVSwitch"
                                                                             : "direct NVLinks"};
}

}  // namespace

std::vector<DeviceView> measured_devices(const Profile& profile) {
  std::vector<DeviceView> devices = device_views(profile);
  std::erase_if(devices, [](const DeviceView& device) {
    return device.facts == nullptr && device.measurements.empty();
  });
  return devices;
}

std::string name_of(const DeviceView& device) {
  return device.facts == nullptr
             ? std::string(device.name())
             : fmt::format("{} · {}", device_label(*device.profile, device.name()),
                           device.facts->name);
}

std::vector<std::string> traits_of(const DeviceView& device) {
  return device.facts != nullptr ? traits_of(*device.facts)
         : device.is_host()      ? traits_of(device.profile->host)
                                 : traits_of_node(*device.profile);
}

std::string title_of(const DeviceView& device) {
  const std::vector<std::string> traits = traits_of(device);
  return traits.empty() ? name_of(device)
                        : fmt::format("{} · {}", name_of(device), fmt::join(traits, " · "));
}

std::string cpu_text(const HostFacts& host) {
  std::string cpu = host.cpu_model;
  if (cpu.empty()) return cpu;
  if (host.sockets.value_or(1) > 1) cpu = fmt::format("{} x {}", *host.sockets, cpu);
  if (host.cores) cpu += fmt::format(", {} cores", *host.cores);
  if (host.usable_threads && host.hardware_threads && *host.usable_threads < *host.hardware_threads)
    cpu += fmt::format(", {} of {} CPUs usable", *host.usable_threads, *host.hardware_threads);
  return cpu;
}

PointCounts count_points(const Profile& profile) {
  PointCounts counts;
  for (const Measurement& m : profile.measurements) {
    ++(m.status == Status::kOk        ? counts.ok
       : m.status == Status::kSkipped ? counts.skipped
                                      : counts.failed);
  }
  return counts;
}

}  // namespace peakline

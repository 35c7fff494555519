#include "harness/conclude/device_labels.hpp"

#include <string_view>

#include "harness/hardware/spec.hpp"

namespace peakline {
namespace {

constexpr std::string_view kMemory = "HBM", kLink = "PCIe";

std::string with(std::string_view name, std::string_view label, std::string_view replaced) {
  return std::string(name) + std::string(label.substr(replaced.size()));
}

}  // namespace

std::string label_on(const Resource& resource, const DeviceFacts& gpu) {
  if (resource.label.starts_with(kMemory)) return with(memory_name(gpu), resource.label, kMemory);
  if (resource.label.starts_with(kLink)) return with(host_link_name(gpu), resource.label, kLink);
  return resource.label;
}

std::string label_in(const Resource& resource, const Profile& profile) {
  if (profile.devices.empty()) return resource.label;
  const std::string first = label_on(resource, profile.devices.front());
  for (const DeviceFacts& gpu : profile.devices)
    if (label_on(resource, gpu) != first)
      return resource.label.starts_with(kMemory) ? with(kAnyMemory, resource.label, kMemory)
                                                 : resource.label;
  return first;
}

}  // namespace peakline

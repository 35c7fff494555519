#include "harness/conclude/device_labels.hpp"

#include <string_view>

#include "harness/hardware/spec.hpp"

namespace peakline {
namespace {

std::string named(std::string_view name, const Resource& resource) {
  return std::string(name) + ' ' + resource.what;
}

}  // namespace

std::string label_on(const Resource& resource, const DeviceFacts& gpu) {
  switch (resource.of) {
    case Resource::Of::kDeviceMemory:
      return named(memory_name(gpu), resource);
    case Resource::Of::kHostLink:
      return named(host_link_name(gpu), resource);
    case Resource::Of::kOther:
      break;
  }
  return resource.label;
}

std::string label_in(const Resource& resource, const Profile& profile) {
  if (profile.devices.empty()) return resource.label;
  const std::string first = label_on(resource, profile.devices.front());
  for (const DeviceFacts& gpu : profile.devices)
    if (label_on(resource, gpu) != first)
      return resource.of == Resource::Of::kDeviceMemory ? named(kAnyMemory, resource)
                                                        : resource.label;
  return first;
}

}  // namespace peakline

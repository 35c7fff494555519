#include "harness/core/labels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace peakline {
std::string basis_label(Basis basis) {
  std::string label(to_string(basis));
  std::ranges::replace(label, '_', '-');
  return label;
}

std::string resource_label(std::string_view resource) {
  const Resource* known = find_resource(resource);
  return known != nullptr ? known->label : std::string(resource);
}

std::string device_label(const Profile& profile, std::string_view device) {
  const auto found = std::ranges::find(profile.devices, device, &DeviceFacts::uuid);
  return found == profile.devices.end() ? std::string(device) : fmt::format("GPU {}", found->index);
}

}  // namespace peakline

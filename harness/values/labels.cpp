#include "harness/values/labels.hpp"

#include <algorithm>

namespace peakline {

std::string basis_label(Basis basis) {
  std::string label(to_string(basis));
  std::ranges::replace(label, '_', '-');
  return label;
}

ResourceLabels::ResourceLabels(const Profile& profile) {
  for (const Resource& resource : profile.resources) labels_.emplace(resource.name, resource.label);
  for (const Resource& resource : known_resources()) {
    labels_.emplace(resource.name, resource.label);
  }
}

std::string ResourceLabels::operator()(std::string_view resource) const {
  const auto found = labels_.find(resource);
  return std::string(found == labels_.end() ? resource : found->second);
}

std::string device_label(const Profile& profile, std::string_view device) {
  const auto found = std::ranges::find(profile.devices, device, &DeviceFacts::uuid);
  return found == profile.devices.end() ? std::string(device)
                                        : "GPU " + std::to_string(found->index);
}

}  // namespace peakline

#pragma once

// Labels of resources for given devices; the table of resources assumes HBM and PCIe.

#include <string>

#include "harness/values/profile.hpp"

namespace peakline {

// "HBM read", "GDDR read", "LPDDR read", or "device memory read" for unknown architectures; "Shared
// memory H2D" for integrated GPUs.
std::string label_on(const Resource& resource, const DeviceFacts& gpu);

// Fits all GPUs of the profile; where labels differ, their common part.
std::string label_in(const Resource& resource, const Profile& profile);

}  // namespace peakline

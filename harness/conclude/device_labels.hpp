#pragma once

// Labels of resources on the devices at hand. The table of resources names them as on an H200,
// whose memory is HBM and whose host is behind PCIe.

#include <string>

#include "harness/values/profile.hpp"

namespace peakline {

// "HBM read", "GDDR read", "LPDDR read", of an unknown architecture "device memory read"; "Shared
// memory H2D" of a GPU that has its memory in common with the host.
std::string label_on(const Resource& resource, const DeviceFacts& gpu);

// The label that serves all GPUs of the profile: where theirs differ, the part in common.
std::string label_in(const Resource& resource, const Profile& profile);

}  // namespace peakline

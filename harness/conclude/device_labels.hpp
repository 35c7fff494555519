#pragma once

// What resources are called on the devices at hand: the table of resources names them as on an
// H200, whose memory is HBM and whose host is behind PCIe.

#include <string>

#include "harness/values/profile.hpp"

namespace peakline {

// "HBM read", "GDDR read", "LPDDR read", of an unknown architecture "device memory read"; "Shared
// memory to device" of a GPU that has its memory in common with the host.
std::string label_on(const Resource& resource, const DeviceFacts& gpu);

// Likewise, for all GPUs of the profile: where they differ, what they have in common.
std::string label_in(const Resource& resource, const Profile& profile);

}  // namespace peakline

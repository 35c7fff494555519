#pragma once

// How resources, bases and devices are called where a person reads of them.

#include <string>
#include <string_view>

#include "harness/core/profile.hpp"

namespace peakline {

// "burst", "model-shaped": a basis as it is printed.
std::string basis_label(Basis basis);
// "HBM read", "PCIe to device", "BF16 Tensor Cores": a resource as it is printed.
std::string resource_label(std::string_view resource);
// "GPU 0", "host"; empty for the whole machine. A UUID that the profile does not know stays as it
// is.
std::string device_label(const Profile& profile, std::string_view device);

}  // namespace peakline

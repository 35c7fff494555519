#include "harness/core/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace peakline {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

std::string last_part(std::string_view id) { return std::string(id.substr(id.rfind('.') + 1)); }

}  // namespace

std::string basis_label(Basis basis) {
  std::string label(to_string(basis));
  std::ranges::replace(label, '_', '-');
  return label;
}

std::string resource_label(std::string_view resource) {
  static const std::map<std::string_view, std::string_view> kLabels = {
      {"hbm.read", "HBM read"},
      {"hbm.write", "HBM write"},
      {"hbm.copy", "HBM copy (read + write)"},
      {"hbm.triad", "HBM triad (2 reads + write)"},
      {"hbm.memcpy", "HBM memcpy (read + write)"},
      {"hbm.memset", "HBM memset"},
      {"pcie.h2d", "PCIe to device"},
      {"pcie.d2h", "PCIe to host"},
      {"pcie.bidirectional", "PCIe both ways"},
      {"memory.read", "memory read"},
      {"memory.copy", "memory copy (read + write)"},
      {"memory.triad", "memory triad (2 reads + write)"}};
  const auto label = kLabels.find(resource);
  if (label != kLabels.end()) return std::string(label->second);
  const std::string precision = upper(last_part(resource));
  if (resource.starts_with("cuda_core.")) return precision + " CUDA cores";
  if (resource.starts_with("tensor.")) return precision + " Tensor Cores";
  if (resource.starts_with("gemm.")) return precision + " matrix product";
  if (resource.starts_with("cpu.")) return precision + " CPU";
  return std::string(resource);
}

std::string device_label(const Profile& profile, std::string_view device) {
  const auto found = std::ranges::find(profile.devices, device, &DeviceFacts::uuid);
  return found == profile.devices.end() ? std::string(device) : fmt::format("GPU {}", found->index);
}

}  // namespace peakline

#include "harness/cuda/nvlinks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peakline::cuda {
namespace {

using Library = NvmlLibrary;

constexpr double kBytesPerMegabyte = 1e6;

std::optional<bool> is_up(const Library& nvml, nvmlDevice_t device, unsigned link) {
  nvmlEnableState_t state{};
  if (nvml.nvlink_state(device, link, &state) != NVML_SUCCESS) return std::nullopt;
  return state == NVML_FEATURE_ENABLED;
}

std::optional<double> speed_of(const Library& nvml, nvmlDevice_t device, unsigned link) {
  nvmlFieldValue_t field{};
  field.fieldId = NVML_FI_DEV_NVLINK_GET_SPEED;
  field.scopeId = link;
  if (nvml.field_values(device, 1, &field) != NVML_SUCCESS || field.nvmlReturn != NVML_SUCCESS ||
      field.value.uiVal == 0)
    return std::nullopt;
  return field.value.uiVal * kBytesPerMegabyte;
}

// nullopt: unknown to this code.
std::optional<int> version_of(const Library& nvml, nvmlDevice_t device, unsigned link) {
  // nvmlNvlinkVersion_t numbers 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0.
  constexpr std::array kMajor = {0, 1, 2, 2, 3, 3, 4, 5};
  unsigned version = 0;
  if (nvml.nvlink_version(device, link, &version) != NVML_SUCCESS || version == 0 ||
      version >= kMajor.size())
    return std::nullopt;
  return kMajor[version];
}

std::optional<nvmlIntNvLinkDeviceType_t> remote_type(const Library& nvml, nvmlDevice_t device,
                                                     unsigned link) {
  nvmlIntNvLinkDeviceType_t type{};
  if (nvml.nvlink_remote_type(device, link, &type) != NVML_SUCCESS) return std::nullopt;
  return type;
}

// The most links a device can have, which may exceed the header's constant.
unsigned most_links(const Library& nvml, nvmlDevice_t device) {
  nvmlFieldValue_t field{};
  field.fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT;
  const bool read =
      nvml.field_values(device, 1, &field) == NVML_SUCCESS && field.nvmlReturn == NVML_SUCCESS;
  return std::max<unsigned>(read ? field.value.uiVal : 0, NVML_NVLINK_MAX_LINKS);
}

// Links that are up and lead to the GPU with that bus id; through switches, all.
int links_to(const Library& nvml, nvmlDevice_t device, std::string_view bus_id) {
  int links = 0;
  const unsigned most = most_links(nvml, device);
  for (unsigned link = 0; link < most; ++link) {
    if (!is_up(nvml, device, link).value_or(false)) continue;
    nvmlPciInfo_t pci{};
    links += remote_type(nvml, device, link) == NVML_NVLINK_DEVICE_TYPE_SWITCH ||
             (nvml.nvlink_remote_pci(device, link, &pci) == NVML_SUCCESS && bus_id == pci.busId);
  }
  return links;
}

std::string path_between(const Library& nvml, nvmlDevice_t one, nvmlDevice_t other) {
  nvmlGpuTopologyLevel_t level{};
  if (nvml.common_ancestor(one, other, &level) != NVML_SUCCESS) return {};
  switch (level) {
    case NVML_TOPOLOGY_INTERNAL:
    case NVML_TOPOLOGY_SINGLE:
      return "PIX";
    case NVML_TOPOLOGY_MULTIPLE:
      return "PXB";
    case NVML_TOPOLOGY_HOSTBRIDGE:
      return "PHB";
    case NVML_TOPOLOGY_NODE:
      return "NODE";
    case NVML_TOPOLOGY_SYSTEM:
      return "SYS";
  }
  return {};
}

// nullopt: unknown to the driver.
std::optional<nvmlGpuP2PStatus_t> status(const Library& nvml, nvmlDevice_t one, nvmlDevice_t other,
                                         nvmlGpuP2PCapsIndex_t capability) {
  nvmlGpuP2PStatus_t found{};
  if (nvml.p2p_status(one, other, capability, &found) != NVML_SUCCESS ||
      found == NVML_P2P_STATUS_UNKNOWN)
    return std::nullopt;
  return found;
}

std::string_view refusal(nvmlGpuP2PStatus_t status) {
  switch (status) {
    case NVML_P2P_STATUS_OK:
    case NVML_P2P_STATUS_UNKNOWN:
      return {};
    case NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED:
      return kChipsetRefuses;
    case NVML_P2P_STATUS_GPU_NOT_SUPPORTED:
      return kGpuRefuses;
    case NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED:
      return kTopologyRefuses;
    case NVML_P2P_STATUS_DISABLED_BY_REGKEY:
      return kDriverRefuses;
    case NVML_P2P_STATUS_NOT_SUPPORTED:
      return kSystemRefuses;
  }
  return {};
}

}  // namespace

NvLinks nvlinks_of(const Library& nvml, nvmlDevice_t device) {
  NvLinks links;
  std::vector<std::optional<double>> speeds(most_links(nvml, device));
  for (unsigned link = 0; link < speeds.size(); ++link) {
    const auto up = is_up(nvml, device, link);
    if (!up) continue;
    ++links.count;
    if (!*up) {
      links.down.push_back(static_cast<int>(link));
      continue;
    }
    if (!links.version) links.version = version_of(nvml, device, link);
    if (const auto type = remote_type(nvml, device, link); type && !links.to_switch)
      links.to_switch = *type == NVML_NVLINK_DEVICE_TYPE_SWITCH;
    speeds[link] = speed_of(nvml, device, link);
  }
  links.bytes_per_s = *std::ranges::max_element(speeds);
  for (std::size_t link = 0; link < speeds.size(); ++link)
    if (speeds[link] && *speeds[link] < *links.bytes_per_s)
      links.slow.push_back(static_cast<int>(link));
  return links;
}

std::optional<C2cLinks> c2c_of(const Library& nvml, nvmlDevice_t device) {
  nvmlC2cModeInfo_v1_t mode{};
  if (nvml.c2c_mode(device, &mode) != NVML_SUCCESS || mode.isC2cEnabled == 0) return std::nullopt;
  const auto field = [&](unsigned id, unsigned link) -> std::optional<double> {
    nvmlFieldValue_t value{};
    value.fieldId = id;
    value.scopeId = link;
    if (nvml.field_values(device, 1, &value) != NVML_SUCCESS || value.nvmlReturn != NVML_SUCCESS)
      return std::nullopt;
    return value.value.uiVal;
  };
  C2cLinks links;
  const double present = field(NVML_FI_DEV_C2C_LINK_COUNT, 0).value_or(0);
  for (unsigned link = 0; link < static_cast<unsigned>(present); ++link) {
    if (field(NVML_FI_DEV_C2C_LINK_GET_STATUS, link) != 1) continue;
    links.count = links.count.value_or(0) + 1;
    if (const auto rate = field(NVML_FI_DEV_C2C_LINK_GET_MAX_BW, link); rate > 0)
      links.bytes_per_s = std::max(links.bytes_per_s.value_or(0), *rate * kBytesPerMegabyte);
  }
  return links;
}

void add_peers(const Library& nvml, const std::vector<nvmlDevice_t>& handles,
               std::vector<DeviceFacts>& devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      if (i == j || handles[i] == nullptr || handles[j] == nullptr) continue;
      const auto reads = status(nvml, handles[i], handles[j], NVML_P2P_CAPS_INDEX_READ);
      const auto atomics = status(nvml, handles[i], handles[j], NVML_P2P_CAPS_INDEX_ATOMICS);
      devices[i].peers.push_back(
          {.index = devices[j].index,
           .path = path_between(nvml, handles[i], handles[j]),
           .nvlinks = links_to(nvml, handles[i], devices[j].pci_bus_id),
           .refused = std::string(reads ? refusal(*reads) : ""),
           .atomics = atomics ? std::optional(*atomics == NVML_P2P_STATUS_OK) : std::nullopt});
    }
  }
}

}  // namespace peakline::cuda

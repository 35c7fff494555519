#include "harness/cuda/nvlinks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

constexpr double kBytesPerKiB = 1024;

// By the field that has it. Since Blackwell, recoveries have another field, and take the place of
// replays and CRC errors.
constexpr std::pair<std::optional<std::int64_t> NvLinkCounters::*, unsigned> kCounters[] = {
    {&NvLinkCounters::replays, NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY},
    {&NvLinkCounters::recoveries, NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY},
    {&NvLinkCounters::crc_errors, NVML_FI_DEV_NVLINK_ERROR_DL_CRC},
    {&NvLinkCounters::recoveries, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS},
    {&NvLinkCounters::malformed_packets, NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS},
    {&NvLinkCounters::buffer_overruns, NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS},
    {&NvLinkCounters::receive_errors, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS},
    {&NvLinkCounters::integrity_errors, NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS},
    {&NvLinkCounters::discards, NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS},
    {&NvLinkCounters::effective_errors, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS},
    {&NvLinkCounters::symbol_errors, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS}};

// A link's fields, read at once.
class Fields {
 public:
  Fields(const Library& nvml, nvmlDevice_t device, unsigned link) {
    std::vector<unsigned> ids(std::begin(kOthers), std::end(kOthers));
    for (const auto& [member, id] : kCounters) ids.push_back(id);
    for (const unsigned id : ids) {
      nvmlFieldValue_t& field = fields_.emplace_back();
      field.fieldId = id;
      field.scopeId = link;
      field.nvmlReturn = NVML_ERROR_UNKNOWN;
    }
    if (nvml.field_values(device, static_cast<int>(fields_.size()), fields_.data()) != NVML_SUCCESS)
      fields_.clear();
  }

  std::optional<std::int64_t> count(unsigned id) const {
    const auto field = std::ranges::find(fields_, id, &nvmlFieldValue_t::fieldId);
    return field == fields_.end() ? std::nullopt : count_of(*field);
  }
  // Sent and received.
  std::optional<double> bytes() const {
    const auto sum = [&](unsigned sent, unsigned received, double unit) -> std::optional<double> {
      const auto one = count(sent), other = count(received);
      if (!one || !other) return std::nullopt;
      return unit * (static_cast<double>(*one) + static_cast<double>(*other));
    };
    if (const auto of_nvlink5 =
            sum(NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES, NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES, 1))
      return of_nvlink5;
    return sum(NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
               kBytesPerKiB);
  }
  // Coded as mantissa and negative exponent.
  std::optional<double> ratio(unsigned id) const {
    const auto coded = count(id);
    if (!coded) return std::nullopt;
    const auto mantissa =
                   static_cast<double>(NVML_NVLINK_ERROR_COUNTER_BER_GET(*coded, BER_MANTISSA)),
               exponent = static_cast<double>(NVML_NVLINK_ERROR_COUNTER_BER_GET(*coded, BER_EXP)),
               ratio = mantissa / std::pow(10, exponent);
    constexpr double kLeast = 1e-30;  // of a profile
    return ratio <= 1 && (ratio >= kLeast || mantissa == 0) ? std::optional(ratio) : std::nullopt;
  }

 private:
  static constexpr unsigned kOthers[] = {
      NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,  NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
      NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES,    NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES,
      NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER};

  std::vector<nvmlFieldValue_t> fields_;
};

}  // namespace

std::optional<std::int64_t> count_of(const nvmlFieldValue_t& field) {
  std::int64_t count = -1;  // as a driver may state what it does not know
  if (field.valueType == NVML_VALUE_TYPE_UNSIGNED_INT) count = field.value.uiVal;
  if (field.valueType == NVML_VALUE_TYPE_SIGNED_INT) count = field.value.siVal;
  if (field.valueType == NVML_VALUE_TYPE_UNSIGNED_LONG ||
      field.valueType == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG ||
      field.valueType == NVML_VALUE_TYPE_SIGNED_LONG_LONG)
    count = field.value.sllVal;
  return field.nvmlReturn == NVML_SUCCESS && count >= 0 ? std::optional(count) : std::nullopt;
}

std::vector<NvLinkCounters> nvlink_counters_of(const Library& nvml, nvmlDevice_t device) {
  std::vector<NvLinkCounters> links;
  const unsigned most = most_links(nvml, device);
  for (unsigned link = 0; link < most; ++link) {
    if (!is_up(nvml, device, link)) continue;
    NvLinkCounters read{.link = static_cast<int>(link)};
    const Fields fields(nvml, device, link);
    for (const auto& [member, id] : kCounters)
      if (const auto count = fields.count(id)) read.*member = count;
    read.bytes = fields.bytes();
    read.effective_ber = fields.ratio(NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER);
    read.symbol_ber = fields.ratio(NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER);
    if (read != NvLinkCounters{.link = read.link}) links.push_back(read);
  }
  return links;
}

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

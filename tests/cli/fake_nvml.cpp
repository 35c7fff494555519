// A driver library with two devices that no CUDA runtime knows, to be found in place of the real
// one through LD_LIBRARY_PATH: what the command line says of drivers and devices can so be tested
// on every machine. Set by the environment:
//   FAKE_NVML_INIT     what nvmlInit answers (an nvmlReturn_t)
//   FAKE_NVML_DEVICE1  what opening the second device answers
//   FAKE_NVML_CUDA     the CUDA version that the driver supports, 12020 for 12.2
//   FAKE_NVML_DOWN     the NVLink of the second device, of four to a switch, that is down
//   FAKE_NVML_SLOW     the one that runs at half of the others' speed
//   FAKE_NVML_P2P      the nvmlGpuP2PStatus_t of every pair
//   FAKE_NVML_ALONE    how often the first device has no other process before it has one
//   FAKE_NVML_MIG      so many MIG instances that the first device is cut into
//   FAKE_NVML_C2C      so many links of NVLink-C2C, of 44,712 MB/s, that the devices have; the last
//                      of them is down
//   FAKE_NVML_ZERO     1: 0, with success, for clocks, bus width, memory, power limits and the PCIe
//                      link, as the driver of a GB10 answers for some of them; else not supported

#include <nvml.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int variable(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

constexpr const char* kUuids[] = {"GPU-aaaaaaaa-0000-0000-0000-000000000000",
                                  "GPU-bbbbbbbb-0000-0000-0000-000000000000"};

constexpr unsigned kLinks = 4, kMegabytesPerSecond = 26562;

// Handles of MIG instances, of the first device, are beyond those of devices.
constexpr unsigned kFirstInstance = 8;
constexpr const char* kInstanceUuid = "MIG-cccccccc-0000-0000-0000-00000000000";

nvmlDevice_t handle(unsigned index) { return reinterpret_cast<nvmlDevice_t>(index + 1ul); }
unsigned index_of(nvmlDevice_t device) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long>(device) - 1);
}

bool is_instance(nvmlDevice_t device) { return index_of(device) >= kFirstInstance; }

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() { return static_cast<nvmlReturn_t>(variable("FAKE_NVML_INIT", 0)); }
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }

const char* nvmlErrorString(nvmlReturn_t code) {
  return code == NVML_ERROR_NO_PERMISSION ? "Insufficient Permissions" : "Fake Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "535.104.05");
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = variable("FAKE_NVML_CUDA", 99000);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  *device = handle(index);
  return index == 1 ? static_cast<nvmlReturn_t>(variable("FAKE_NVML_DEVICE1", 0)) : NVML_SUCCESS;
}

// Like the real one, it gives up where any device cannot be opened.
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  const int second = variable("FAKE_NVML_DEVICE1", 0);
  if (second != NVML_SUCCESS) return static_cast<nvmlReturn_t>(second);
  if (std::strncmp(uuid, kInstanceUuid, std::strlen(kInstanceUuid)) == 0) {
    *device = handle(kFirstInstance +
                     static_cast<unsigned>(std::atoi(uuid + std::strlen(kInstanceUuid))));
    return NVML_SUCCESS;
  }
  for (unsigned i = 0; i < 2; ++i) {
    if (std::strcmp(uuid, kUuids[i]) != 0) continue;
    *device = handle(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned size) {
  if (is_instance(device)) {
    std::snprintf(text, size, "%s%u", kInstanceUuid, index_of(device) - kFirstInstance);
    return NVML_SUCCESS;
  }
  std::snprintf(text, size, "%s", kUuids[index_of(device)]);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned size) {
  std::snprintf(text, size, is_instance(device) ? "Fake GPU MIG 1g.10gb" : "Fake GPU");
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  if (std::getenv("FAKE_NVML_MIG") == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = index_of(device) == 0 ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned* count) {
  *count = 7;
  return NVML_SUCCESS;
}
// Slots without an instance lie between them.
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t, unsigned index,
                                                 nvmlDevice_t* instance) {
  if (index % 2 != 0 || static_cast<int>(index / 2) >= variable("FAKE_NVML_MIG", 0))
    return NVML_ERROR_NOT_FOUND;
  *instance = handle(kFirstInstance + index / 2);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t instance,
                                                          nvmlDevice_t* device) {
  if (!is_instance(instance)) return NVML_ERROR_INVALID_ARGUMENT;
  *device = handle(0);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t instance, nvmlDeviceAttributes_t* attributes) {
  if (!is_instance(instance)) return NVML_ERROR_NOT_SUPPORTED;
  *attributes = {};
  attributes->multiprocessorCount = 16;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t, nvmlC2cModeInfo_v1_t* mode) {
  if (std::getenv("FAKE_NVML_C2C") == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  mode->isC2cEnabled = variable("FAKE_NVML_C2C", 0) > 0;
  return NVML_SUCCESS;
}

// Another process is on the first device, or comes there.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* infos) {
  static int asked = 0;
  *count = index_of(device) == 0 && ++asked > variable("FAKE_NVML_ALONE", 0) ? 1 : 0;
  if (*count == 1)
    infos[0] = {.pid = 4711, .usedGpuMemory = 1 << 20, .gpuInstanceId = 0, .computeInstanceId = 0};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                      nvmlEnableState_t* state) {
  if (link >= kLinks) return NVML_ERROR_INVALID_ARGUMENT;
  const bool down =
      index_of(device) == 1 && variable("FAKE_NVML_DOWN", -1) == static_cast<int>(link);
  *state = down ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t, unsigned, unsigned* version) {
  *version = NVML_NVLINK_VERSION_4_0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned,
                                                 nvmlIntNvLinkDeviceType_t* type) {
  *type = NVML_NVLINK_DEVICE_TYPE_SWITCH;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    const auto links = static_cast<unsigned>(variable("FAKE_NVML_C2C", 0));
    if (links > 0 && fields[i].fieldId >= NVML_FI_DEV_C2C_LINK_COUNT &&
        fields[i].fieldId <= NVML_FI_DEV_C2C_LINK_GET_MAX_BW) {
      fields[i].nvmlReturn = NVML_SUCCESS;
      fields[i].value.uiVal = fields[i].fieldId == NVML_FI_DEV_C2C_LINK_COUNT ? links
                              : fields[i].fieldId == NVML_FI_DEV_C2C_LINK_GET_STATUS
                                  ? fields[i].scopeId + 1 < links
                                  : 44712;
    }
    if (fields[i].fieldId != NVML_FI_DEV_NVLINK_GET_SPEED) continue;
    const bool slow = index_of(device) == 1 &&
                      variable("FAKE_NVML_SLOW", -1) == static_cast<int>(fields[i].scopeId);
    fields[i].nvmlReturn = NVML_SUCCESS;
    fields[i].value.uiVal = slow ? kMegabytesPerSecond / 2 : kMegabytesPerSecond;
  }
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t,
                                    nvmlGpuP2PStatus_t* status) {
  *status = static_cast<nvmlGpuP2PStatus_t>(variable("FAKE_NVML_P2P", NVML_P2P_STATUS_OK));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t, nvmlDevice_t,
                                                 nvmlGpuTopologyLevel_t* level) {
  *level = NVML_TOPOLOGY_HOSTBRIDGE;
  return NVML_SUCCESS;
}

nvmlReturn_t zero(unsigned* value) {
  if (variable("FAKE_NVML_ZERO", 0) == 0) return NVML_ERROR_NOT_SUPPORTED;
  *value = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t, nvmlClockType_t, unsigned* mhz) {
  return zero(mhz);
}
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t, unsigned* bits) { return zero(bits); }
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t, unsigned* mw) { return zero(mw); }
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t, unsigned* mw) {
  return zero(mw);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t, unsigned* low,
                                                          unsigned* high) {
  *low = 0;
  return zero(high);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t, unsigned* value) {
  return zero(value);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned* value) { return zero(value); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t, unsigned* value) {
  return zero(value);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t, unsigned* value) { return zero(value); }
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  *memory = {};
  unsigned none = 0;
  return zero(&none);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned, char* text, unsigned size) {
  std::snprintf(text, size, "neighbour");
  return NVML_SUCCESS;
}
}

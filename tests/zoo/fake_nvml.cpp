// A driver library that answers as devices of the zoo (tests/zoo) do, to be found in place of the
// real one: what is said of drivers and devices can so be tested on every machine. What a file does
// not state is not supported; what it states as 0 is answered with 0, and success, as drivers do
// for what they do not know. "counters" and "nvlinks": {"counters"} of a device state what counters
// begin with, by name and by number of the field; each reading adds "growth", for fields on the
// NVLink "worn" alone. Set by the environment:
//   FAKE_NVML_DEVICES  the files of the devices, between colons; without it two that no CUDA
//                      runtime knows, of which hardly anything is known
//   FAKE_NVML_INIT     what nvmlInit answers (an nvmlReturn_t)
//   FAKE_NVML_DEVICE1  what opening the second device answers
//   FAKE_NVML_CUDA     the CUDA version that the driver supports, 12020 for 12.2
//   FAKE_NVML_DOWN     the NVLink of the second device that is down
//   FAKE_NVML_SLOW     the one that runs at half of the others' speed
//   FAKE_NVML_P2P      the nvmlGpuP2PStatus_t of every pair
//   FAKE_NVML_ALONE    how often the first device has no other process before it has one

#include <nvml.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace {

using Json = nlohmann::json;

int variable(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

constexpr const char* kUnknownDevice = R"({
  "name": "Fake GPU",
  "nvlinks": {"count": 4, "version": 4, "mb_per_s": 26562, "to_switch": true}
})";

// What NVML says of each device: one object of "nvml" out of all reports of its file.
std::vector<Json> read_devices() {
  const char* files = std::getenv("FAKE_NVML_DEVICES");
  // In braces, 2 would be one of the devices.
  if (files == nullptr) return std::vector<Json>(2, Json::parse(kUnknownDevice));
  std::vector<Json> devices;
  std::istringstream names(files);
  for (std::string name; std::getline(names, name, ':');) {
    Json& device = devices.emplace_back(Json::object());
    const Json file = Json::parse(std::ifstream(name));
    for (const Json& report : file.at("reports"))
      if (report.contains("nvml")) device.update(report["nvml"]);
  }
  return devices;
}

std::vector<Json>& devices() {
  static std::vector<Json> all;
  return all;
}

// How often each counter was read, by field and link.
std::map<std::tuple<const Json*, unsigned, unsigned>, unsigned>& readings() {
  static std::map<std::tuple<const Json*, unsigned, unsigned>, unsigned> all;
  return all;
}

// Handles of MIG instances are beyond those of devices: so many are kept for each.
constexpr unsigned kInstances = 8;

nvmlDevice_t handle(unsigned number) { return reinterpret_cast<nvmlDevice_t>(number + 1ul); }
unsigned number_of(nvmlDevice_t device) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long>(device) - 1);
}
bool is_instance(nvmlDevice_t device) { return number_of(device) >= kInstances; }
unsigned index_of(nvmlDevice_t device) {
  return is_instance(device) ? number_of(device) / kInstances - 1 : number_of(device);
}
unsigned instance_of(nvmlDevice_t device) { return number_of(device) % kInstances; }

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// What the file says of the device, or of the instance.
const Json& facts_of(nvmlDevice_t device) {
  const Json& facts = devices().at(index_of(device));
  return is_instance(device) ? facts.at("mig_instances").at(instance_of(device)) : facts;
}
const Json* fact(nvmlDevice_t device, const char* key) { return find(facts_of(device), key); }
const Json* fact(nvmlDevice_t device, const char* group, const char* key) {
  const Json* of_group = fact(device, group);
  return of_group == nullptr ? nullptr : find(*of_group, key);
}

nvmlReturn_t answer(const Json* value, unsigned* out, double factor = 1) {
  if (value == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *out = static_cast<unsigned>(value->get<double>() * factor);
  return NVML_SUCCESS;
}
nvmlReturn_t answer(const Json* value, char* out, unsigned size) {
  if (value == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  std::snprintf(out, size, "%s", value->get<std::string>().c_str());
  return NVML_SUCCESS;
}

// "0x233010DE", as nvidia-smi prints it; 0 where it is not stated.
unsigned id_of(const Json* id) {
  return id == nullptr ? 0 : static_cast<unsigned>(std::stoul(id->get<std::string>(), nullptr, 16));
}

std::string uuid_of(nvmlDevice_t device) {
  const char letter = static_cast<char>('a' + index_of(device));
  const std::string start(8, is_instance(device) ? 'c' : letter);
  const unsigned last = is_instance(device) ? instance_of(device) : 0;
  std::string uuid = is_instance(device) ? "MIG-" : "GPU-";
  return uuid + start + "-0000-0000-0000-00000000000" + std::to_string(last);
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  try {
    readings().clear();
    devices() = read_devices();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "FAKE_NVML_DEVICES: %s\n", error.what());
    return NVML_ERROR_UNKNOWN;
  }
  return static_cast<nvmlReturn_t>(variable("FAKE_NVML_INIT", 0));
}
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
  *count = static_cast<unsigned>(devices().size());
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  *device = handle(index);
  return index == 1 ? static_cast<nvmlReturn_t>(variable("FAKE_NVML_DEVICE1", 0)) : NVML_SUCCESS;
}

// Slots without an instance lie between them.
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  if (fact(device, "mig") == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *count = kInstances - 1;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* instance) {
  const Json* instances = fact(device, "mig_instances");
  if (instances == nullptr || index % 2 != 0 || index / 2 >= instances->size())
    return NVML_ERROR_NOT_FOUND;
  *instance = handle(kInstances * (index_of(device) + 1) + index / 2);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t instance,
                                                          nvmlDevice_t* device) {
  if (!is_instance(instance)) return NVML_ERROR_INVALID_ARGUMENT;
  *device = handle(index_of(instance));
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t instance, nvmlDeviceAttributes_t* attributes) {
  if (!is_instance(instance)) return NVML_ERROR_NOT_SUPPORTED;
  *attributes = {};
  return answer(fact(instance, "multiprocessors"), &attributes->multiprocessorCount);
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  const Json* mig = fact(device, "mig");
  if (mig == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = mig->get<bool>() ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
  return NVML_SUCCESS;
}

// Like the real one, it gives up where any device cannot be opened.
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  const int second = variable("FAKE_NVML_DEVICE1", 0);
  if (second != NVML_SUCCESS) return static_cast<nvmlReturn_t>(second);
  for (unsigned i = 0; i < devices().size(); ++i) {
    *device = handle(i);
    if (uuid == uuid_of(*device)) return NVML_SUCCESS;
    for (unsigned slot = 0; slot < kInstances; ++slot)
      if (nvmlDeviceGetMigDeviceHandleByIndex(handle(i), slot, device) == NVML_SUCCESS &&
          uuid == uuid_of(*device))
        return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", uuid_of(device).c_str());
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned size) {
  return answer(fact(device, "name"), text, size);
}
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* text, unsigned size) {
  return answer(fact(device, "vbios"), text, size);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  const Json* bus_id = fact(device, "pci_bus_id");
  if (bus_id == nullptr && fact(device, "pci_device_id") == nullptr)
    return NVML_ERROR_NOT_SUPPORTED;
  *pci = {};
  std::snprintf(pci->busId, sizeof pci->busId, "00000000:%02x:00.0", index_of(device) + 1);
  pci->pciDeviceId = id_of(fact(device, "pci_device_id"));
  pci->pciSubSystemId = id_of(fact(device, "pci_subsystem_id"));
  return bus_id == nullptr ? NVML_SUCCESS : answer(bus_id, pci->busId, sizeof pci->busId);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  const Json* capability = fact(device, "compute_capability");
  if (capability == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  std::sscanf(capability->get<std::string>().c_str(), "%d.%d", major, minor);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending) {
  const Json* ecc = fact(device, "ecc");
  if (ecc == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = ecc->get<bool>() ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const Json* total = fact(device, "memory_mib");
  if (total == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *memory = {};
  memory->total = memory->free = total->get<unsigned long long>() << 20;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return answer(fact(device, type == NVML_CLOCK_MEM ? "max_memory_clock_mhz" : "max_sm_clock_mhz"),
                mhz);
}
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned memory_mhz,
                                                  unsigned* count, unsigned* clocks_mhz) {
  const Json* clocks = fact(device, "supported_graphics_clocks_mhz");
  const Json* memory = fact(device, "max_memory_clock_mhz");
  if (clocks == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  if (memory == nullptr || *memory != memory_mhz) return NVML_ERROR_NOT_FOUND;
  if (*count < clocks->size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  *count = static_cast<unsigned>(clocks->size());
  std::ranges::transform(*clocks, clocks_mhz, [](const Json& mhz) { return mhz.get<unsigned>(); });
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  return answer(fact(device, "memory_bus_bits"), bits);
}

constexpr double kMilliwattsPerWatt = 1e3;
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned* mw) {
  return answer(fact(device, "power_limit_w"), mw, kMilliwattsPerWatt);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned* mw) {
  return answer(fact(device, "power_limit_default_w"), mw, kMilliwattsPerWatt);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned* low,
                                                          unsigned* high) {
  *low = 0;
  return answer(fact(device, "power_limit_max_w"), high, kMilliwattsPerWatt);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* value) {
  return answer(fact(device, "pcie", "generation"), value);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* value) {
  return answer(fact(device, "pcie", "width"), value);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* value) {
  return answer(fact(device, "pcie", "max_generation"), value);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* value) {
  return answer(fact(device, "pcie", "max_width"), value);
}

nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t* mode) {
  return answer(fact(device, "c2c", "enabled"), &mode->isC2cEnabled);
}

nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t* settings) {
  const Json* mode = devices().empty() ? nullptr : find(devices()[0], "confidential_computing");
  if (mode == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  settings->ccFeature =
      *mode == "on" ? NVML_CC_SYSTEM_FEATURE_ENABLED : NVML_CC_SYSTEM_FEATURE_DISABLED;
  settings->multiGpuMode = *mode == "protected PCIe" ? NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE
                                                     : NVML_CC_SYSTEM_MULTIGPU_NONE;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t* info) {
  const Json* state = fact(device, "fabric");
  if (state == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  info->state = *state == "completed"     ? NVML_GPU_FABRIC_STATE_COMPLETED
                : *state == "in progress" ? NVML_GPU_FABRIC_STATE_IN_PROGRESS
                                          : NVML_GPU_FABRIC_STATE_NOT_STARTED;
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
  unsigned count = 0;
  answer(fact(device, "nvlinks", "count"), &count);
  if (link >= count) return NVML_ERROR_INVALID_ARGUMENT;
  const bool down =
      index_of(device) == 1 && variable("FAKE_NVML_DOWN", -1) == static_cast<int>(link);
  *state = down ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned, unsigned* version) {
  const nvmlReturn_t code = answer(fact(device, "nvlinks", "version"), version);
  // nvmlNvlinkVersion_t counts 2.2 and 3.1 too.
  if (code == NVML_SUCCESS) *version += *version <= 2 ? 0 : *version == 3 ? 1 : 2;
  return code;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned,
                                                 nvmlIntNvLinkDeviceType_t* type) {
  const Json* to_switch = fact(device, "nvlinks", "to_switch");
  if (to_switch == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  *type = to_switch->get<bool>() ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU;
  return NVML_SUCCESS;
}

// A counter grows with each reading.
nvmlReturn_t count(const Json* counter, nvmlFieldValue_t& field, bool grows) {
  if (counter == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  const unsigned before = readings()[{counter, field.fieldId, field.scopeId}]++;
  field.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
  field.value.ullVal = counter->at("start").get<unsigned long long>();
  if (grows) field.value.ullVal += counter->value("growth", 0ull) * before;
  return NVML_SUCCESS;
}

nvmlReturn_t nvlink_counter(nvmlDevice_t device, nvmlFieldValue_t& field) {
  const Json* counters = fact(device, "nvlinks", "counters");
  const Json* worn = fact(device, "nvlinks", "worn");
  if (counters == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  return count(find(*counters, std::to_string(field.fieldId).c_str()), field,
               worn == nullptr || *worn == field.scopeId);
}

nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned* replays) {
  nvmlFieldValue_t field{};
  const nvmlReturn_t code = count(fact(device, "counters", "pcie_replays"), field, true);
  if (code == NVML_SUCCESS) *replays = static_cast<unsigned>(field.value.ullVal);
  return code;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t,
                                      unsigned* celsius) {
  return answer(fact(device, "temperature_c"), celsius);
}
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t* margin) {
  const Json* celsius = fact(device, "temperature_margin_c");
  if (celsius == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  if (margin->version != nvmlMarginTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  margin->marginTemperature = celsius->get<int>();
  return NVML_SUCCESS;
}

nvmlReturn_t c2c_status(nvmlDevice_t device, nvmlFieldValue_t& field) {
  const nvmlReturn_t code = answer(fact(device, "c2c", "enabled"), &field.value.uiVal);
  if (const Json* down = fact(device, "c2c", "down"))
    for (const Json& link : *down)
      if (link == field.scopeId) field.value.uiVal = 0;
  return code;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* fields) {
  for (int i = 0; i < count; ++i) {
    nvmlFieldValue_t& field = fields[i];
    field.nvmlReturn = nvlink_counter(device, field);
    if (field.fieldId == NVML_FI_DEV_MEMORY_TEMP) {
      field.nvmlReturn = answer(fact(device, "memory_temperature_c"), &field.value.uiVal);
      field.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    }
    if (field.fieldId == NVML_FI_DEV_NVLINK_LINK_COUNT)
      field.nvmlReturn = answer(fact(device, "nvlinks", "count"), &field.value.uiVal);
    if (field.fieldId == NVML_FI_DEV_C2C_LINK_COUNT)
      field.nvmlReturn = answer(fact(device, "c2c", "links"), &field.value.uiVal);
    if (field.fieldId == NVML_FI_DEV_C2C_LINK_GET_STATUS)
      field.nvmlReturn = c2c_status(device, field);
    if (field.fieldId == NVML_FI_DEV_C2C_LINK_GET_MAX_BW)
      field.nvmlReturn = answer(fact(device, "c2c", "mb_per_s"), &field.value.uiVal);
    if (field.fieldId != NVML_FI_DEV_NVLINK_GET_SPEED) continue;
    const bool slow =
        index_of(device) == 1 && variable("FAKE_NVML_SLOW", -1) == static_cast<int>(field.scopeId);
    field.nvmlReturn =
        answer(fact(device, "nvlinks", "mb_per_s"), &field.value.uiVal, slow ? 0.5 : 1);
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

nvmlReturn_t nvmlSystemGetProcessName(unsigned, char* text, unsigned size) {
  std::snprintf(text, size, "neighbour");
  return NVML_SUCCESS;
}
}

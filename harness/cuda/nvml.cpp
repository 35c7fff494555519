#include "harness/cuda/nvml.hpp"

#include <fmt/format.h>
#include <nvml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "harness/cuda/nvlinks.hpp"
#include "harness/cuda/nvml_library.hpp"
#include "harness/cuda/pci.hpp"

namespace peakline::cuda {

namespace {

using Library = NvmlLibrary;

template <class Query, class... Args>
std::optional<double> number(const Query& query, nvmlDevice_t device, Args... args) {
  unsigned value = 0;
  if (query(device, args..., &value) != NVML_SUCCESS) return std::nullopt;
  return static_cast<double>(value);
}

// Some drivers report unknown values as 0 with success; use it where 0 is impossible.
template <class Query, class... Args>
std::optional<double> positive(const Query& query, nvmlDevice_t device, Args... args) {
  const auto value = number(query, device, args...);
  return value > 0 ? value : std::nullopt;
}

std::optional<double> scaled(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

std::optional<int> integer(std::optional<double> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

template <class Query, class... Args>
std::string text(const Query& query, nvmlDevice_t device) {
  std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> buffer{};
  return query(device, buffer.data(), static_cast<unsigned>(buffer.size())) == NVML_SUCCESS
             ? std::string(buffer.data())
             : std::string();
}

// NVML has the vendor in the lower half. 0, which is no id, gives "".
std::string pci_id(unsigned id) {
  return id == 0 ? std::string() : fmt::format("{:04x}:{:04x}", id & 0xffff, id >> 16);
}

constexpr double kHzPerMHz = 1e6;
constexpr double kWattPerMilliwatt = 1e-3;
constexpr double kSecondsPerNanosecond = 1e-9;

// nvmlDeviceGetPowerUsage averages over a second since Ampere; newer drivers add a field for
// instantaneous power. The capped-time counter advances every 100 ms.
void read_power(const Library& nvml, nvmlDevice_t device, TelemetryReading& reading) {
  std::array<nvmlFieldValue_t, 2> fields{};
  auto& [power, capped] = fields;
  power.fieldId = NVML_FI_DEV_POWER_INSTANT;
  capped.fieldId = NVML_FI_DEV_PERF_POLICY_POWER;
  const bool read =
      nvml.field_values(device, static_cast<int>(fields.size()), fields.data()) == NVML_SUCCESS;
  reading.power_w = read && power.nvmlReturn == NVML_SUCCESS && power.value.uiVal > 0
                        ? power.value.uiVal * kWattPerMilliwatt
                        : scaled(positive(nvml.power, device), kWattPerMilliwatt);
  if (read && capped.nvmlReturn == NVML_SUCCESS)
    reading.power_capped_s = static_cast<double>(capped.value.ullVal) * kSecondsPerNanosecond;
}

PcieLink link_of(const Library& nvml, nvmlDevice_t device) {
  return {.generation = integer(positive(nvml.pcie_generation, device)),
          .width = integer(positive(nvml.pcie_width, device)),
          .max_generation = integer(positive(nvml.pcie_max_generation, device)),
          .max_width = integer(positive(nvml.pcie_max_width, device))};
}

// The step between the two highest settable SM clocks.
std::optional<double> sm_clock_step_hz(const Library& nvml, nvmlDevice_t device) {
  const auto memory_mhz = positive(nvml.max_clock, device, NVML_CLOCK_MEM);
  if (!memory_mhz) return std::nullopt;
  std::array<unsigned, 1024> clocks_mhz{};  // far more than any device has
  auto count = static_cast<unsigned>(clocks_mhz.size());
  if (nvml.graphics_clocks(device, static_cast<unsigned>(*memory_mhz), &count, clocks_mhz.data()) !=
          NVML_SUCCESS ||
      count < 2 || count > clocks_mhz.size())
    return std::nullopt;
  std::ranges::partial_sort(clocks_mhz, clocks_mhz.begin() + 2, std::ranges::greater{});
  if (clocks_mhz[0] == clocks_mhz[1]) return std::nullopt;
  return (clocks_mhz[0] - clocks_mhz[1]) * kHzPerMHz;
}

// "on" also in developer tools mode.
std::string confidential_computing_of(const Library& nvml) {
  nvmlSystemConfComputeSettings_t settings{};
  settings.version = nvmlSystemConfComputeSettings_v1;
  if (nvml.confidential_computing(&settings) != NVML_SUCCESS) return "";
  if (settings.multiGpuMode == NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE) return "protected PCIe";
  return settings.ccFeature == NVML_CC_SYSTEM_FEATURE_ENABLED ? "on" : "off";
}

std::string fabric_of(const Library& nvml, nvmlDevice_t device) {
  nvmlGpuFabricInfo_t info{};
  if (nvml.fabric_info(device, &info) != NVML_SUCCESS) return "";
  switch (info.state) {
    case NVML_GPU_FABRIC_STATE_NOT_STARTED:
      return "not started";
    case NVML_GPU_FABRIC_STATE_IN_PROGRESS:
      return "in progress";
    case NVML_GPU_FABRIC_STATE_COMPLETED:
      return "completed";
    default:
      return "";
  }
}

DeviceFacts facts_of(const Library& nvml, nvmlDevice_t device, const std::filesystem::path& sysfs) {
  DeviceFacts facts;
  facts.uuid = text(nvml.uuid, device);
  facts.name = text(nvml.name, device);
  facts.vbios = text(nvml.vbios, device);
  if (nvmlPciInfo_t pci{}; nvml.pci_info(device, &pci) == NVML_SUCCESS) {
    facts.pci_bus_id = pci.busId;
    facts.pci_device_id = pci_id(pci.pciDeviceId);
    facts.pci_subsystem_id = pci_id(pci.pciSubSystemId);
  }
  nvml.compute_capability(device, &facts.compute_major, &facts.compute_minor);
  facts.sm_clock_max_hz = scaled(positive(nvml.max_clock, device, NVML_CLOCK_SM), kHzPerMHz);
  facts.memory_clock_max_hz = scaled(positive(nvml.max_clock, device, NVML_CLOCK_MEM), kHzPerMHz);
  facts.sm_clock_step_hz = sm_clock_step_hz(nvml, device);
  facts.memory_bus_bits = integer(positive(nvml.bus_width, device));
  if (nvmlMemory_t memory{}; nvml.memory(device, &memory) == NVML_SUCCESS && memory.total > 0) {
    facts.memory_bytes = static_cast<double>(memory.total);
    facts.memory_free_bytes = static_cast<double>(memory.free);
  }
  nvmlEnableState_t current{}, pending{};
  if (nvml.ecc_mode(device, &current, &pending) == NVML_SUCCESS)
    facts.ecc_enabled = current == NVML_FEATURE_ENABLED;
  unsigned mig_current = 0, mig_pending = 0;
  if (nvml.mig_mode(device, &mig_current, &mig_pending) == NVML_SUCCESS)
    facts.mig_enabled = mig_current == NVML_DEVICE_MIG_ENABLE;
  facts.power_limit_w = scaled(positive(nvml.power_limit, device), kWattPerMilliwatt);
  facts.power_limit_default_w =
      scaled(positive(nvml.power_limit_default, device), kWattPerMilliwatt);
  unsigned lowest = 0, highest = 0;
  if (nvml.power_limits(device, &lowest, &highest) == NVML_SUCCESS && highest > 0)
    facts.power_limit_max_w = highest * kWattPerMilliwatt;
  facts.confidential_computing = confidential_computing_of(nvml);
  facts.fabric = fabric_of(nvml, device);
  facts.numa_node = numa_node_of(facts.pci_bus_id, sysfs);
  complete_pci_ids(facts, sysfs);
  return facts;
}

// Facts of each instance. gpu: the card, whose power and clocks they share, but not its memory bus.
std::vector<DeviceFacts> mig_instances_of(const Library& nvml, nvmlDevice_t device,
                                          const DeviceFacts& gpu) {
  std::vector<DeviceFacts> instances;
  unsigned most = 0;
  nvml.most_mig_instances(device, &most);
  for (unsigned i = 0; i < most; ++i) {
    nvmlDevice_t instance = nullptr;
    if (nvml.mig_instance(device, i, &instance) != NVML_SUCCESS) continue;
    DeviceFacts& facts = instances.emplace_back(gpu);
    facts.uuid = text(nvml.uuid, instance);
    if (const std::string name = text(nvml.name, instance); !name.empty()) facts.name = name;
    facts.memory_bus_bits.reset();
    facts.memory_bytes.reset();
    facts.memory_free_bytes.reset();
    if (nvmlMemory_t memory{}; nvml.memory(instance, &memory) == NVML_SUCCESS && memory.total > 0) {
      facts.memory_bytes = static_cast<double>(memory.total);
      facts.memory_free_bytes = static_cast<double>(memory.free);
    }
    if (nvmlDeviceAttributes_t attributes{};
        nvml.mig_attributes(instance, &attributes) == NVML_SUCCESS &&
        attributes.multiprocessorCount > 0)
      facts.sm_count = static_cast<int>(attributes.multiprocessorCount);
  }
  return instances;
}

template <class Query>
void add_processes(const Library& nvml, const Query& query, nvmlDevice_t device,
                   std::vector<DeviceProcess>& processes) {
  // Retries with more room, as processes may start between two calls.
  for (unsigned room = 32; room <= 4096; room *= 4) {
    std::vector<nvmlProcessInfo_t> infos(room);
    unsigned found = room;
    const nvmlReturn_t code = query(device, &found, infos.data());
    if (code == NVML_ERROR_INSUFFICIENT_SIZE) continue;
    if (code != NVML_SUCCESS) return;
    for (unsigned i = 0; i < found; ++i) {
      DeviceProcess process;
      process.pid = infos[i].pid;
      std::array<char, 256> name{};
      if (nvml.process_name(infos[i].pid, name.data(), static_cast<unsigned>(name.size())) ==
          NVML_SUCCESS)
        process.name = name.data();
      constexpr auto kNotAvailable = static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE);
      if (infos[i].usedGpuMemory != kNotAvailable)
        process.memory_bytes = static_cast<double>(infos[i].usedGpuMemory);
      processes.push_back(std::move(process));
    }
    return;
  }
}

}  // namespace

Nvml::Nvml(std::string sysfs)
    : sysfs_(std::move(sysfs)), library_(std::make_unique<NvmlLibrary>()) {}
Nvml::~Nvml() = default;

std::string Nvml::driver_version() const {
  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> buffer{};
  library_->driver_version(buffer.data(), static_cast<unsigned>(buffer.size()));
  return buffer.data();
}

std::string Nvml::cuda_driver_version() const {
  int version = 0;
  if (library_->cuda_driver_version(&version) != NVML_SUCCESS) return "";
  return fmt::format("{}.{}", NVML_CUDA_DRIVER_VERSION_MAJOR(version),
                     NVML_CUDA_DRIVER_VERSION_MINOR(version));
}

const std::vector<DeviceFacts>& Nvml::devices() const {
  if (!devices_.empty()) return devices_;
  unsigned count = 0;
  const nvmlReturn_t counted = library_->count(&count);
  if (counted != NVML_SUCCESS)
    throw NvmlUnavailable("NVIDIA driver: cannot count devices: " + library_->text_of(counted));
  std::vector<DeviceFacts> devices;
  std::vector<nvmlDevice_t> handles;
  const auto add = [&](DeviceFacts facts, nvmlDevice_t handle) {
    facts.index = static_cast<int>(devices.size());
    devices.push_back(std::move(facts));
    handles.push_back(handle);
  };
  for (unsigned index = 0; index < count; ++index) {
    nvmlDevice_t device = nullptr;
    const nvmlReturn_t code = library_->by_index(index, &device);
    DeviceFacts facts;
    if (code != NVML_SUCCESS) {
      facts.unusable = library_->text_of(code);
      if (code == NVML_ERROR_NO_PERMISSION)
        facts.unusable += fmt::format(" (may this user access /dev/nvidia{}?)", index);
      add(std::move(facts), nullptr);
      continue;
    }
    facts = facts_of(*library_, device, sysfs_);
    facts.pcie = link_of(*library_, device);
    facts.pcie.max_payload_bytes = max_payload_of(facts.pci_bus_id, sysfs_);
    facts.c2c = c2c_of(*library_, device);
    if (facts.mig_enabled.value_or(false)) {
      std::vector<DeviceFacts> instances = mig_instances_of(*library_, device, facts);
      if (instances.empty()) {
        facts.unusable = "MIG is on and has no instances: nvidia-smi mig -cgi makes some";
        instances.push_back(std::move(facts));
      }
      // MIG instances have no peers.
      for (DeviceFacts& instance : instances) add(std::move(instance), nullptr);
      continue;
    }
    facts.nvlinks = nvlinks_of(*library_, device);
    add(std::move(facts), device);
  }
  add_peers(*library_, handles, devices);
  devices_ = std::move(devices);
  return devices_;
}

DeviceHealth Nvml::health(const std::string& uuid) const {
  const nvmlDevice_t device = library_->gpu(uuid);
  DeviceHealth health;
  const auto ecc = [&](nvmlMemoryErrorType_t type) -> std::optional<std::int64_t> {
    unsigned long long errors = 0;
    if (library_->ecc_errors(device, type, NVML_VOLATILE_ECC, &errors) != NVML_SUCCESS)
      return std::nullopt;
    return static_cast<std::int64_t>(errors);
  };
  health.ecc = {.corrected = ecc(NVML_MEMORY_ERROR_TYPE_CORRECTED),
                .uncorrected = ecc(NVML_MEMORY_ERROR_TYPE_UNCORRECTED)};
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (library_->remapped_rows(device, &corrected, &uncorrected, &pending, &failed) ==
      NVML_SUCCESS) {
    health.remapped_rows_correctable = corrected;
    health.remapped_rows_uncorrectable = uncorrected;
    health.remap_pending = pending != 0;
    health.remap_failed = failed != 0;
  }
  health.temperature_c = number(library_->temperature, device, NVML_TEMPERATURE_GPU);
  if (const auto replays = number(library_->pcie_replays, device))
    health.pcie_replays = static_cast<std::int64_t>(*replays);
  nvmlFieldValue_t memory{};
  memory.fieldId = NVML_FI_DEV_MEMORY_TEMP;
  if (library_->field_values(device, 1, &memory) == NVML_SUCCESS)
    if (const auto celsius = count_of(memory); celsius > 0)
      health.memory_temperature_c = static_cast<double>(*celsius);
  nvmlMarginTemperature_t margin{};
  margin.version = nvmlMarginTemperature_v1;
  if (library_->margin_temperature(device, &margin) == NVML_SUCCESS)
    health.temperature_margin_c = margin.marginTemperature;
  health.nvlinks = nvlink_counters_of(*library_, device);
  return health;
}

std::vector<DeviceProcess> Nvml::processes(const std::string& uuid) const {
  const nvmlDevice_t device = library_->device(uuid);
  std::vector<DeviceProcess> processes;
  add_processes(*library_, library_->compute_processes, device, processes);
  add_processes(*library_, library_->graphics_processes, device, processes);
  return processes;
}

PcieLink Nvml::pcie_link(const std::string& uuid) const {
  return link_of(*library_, library_->gpu(uuid));
}

TelemetryReading Nvml::telemetry(const std::string& uuid) const {
  const nvmlDevice_t device = library_->gpu(uuid);
  TelemetryReading reading;
  reading.sm_clock_hz = scaled(positive(library_->clock, device, NVML_CLOCK_SM), kHzPerMHz);
  reading.memory_clock_hz = scaled(positive(library_->clock, device, NVML_CLOCK_MEM), kHzPerMHz);
  read_power(*library_, device, reading);
  reading.temperature_c = number(library_->temperature, device, NVML_TEMPERATURE_GPU);
  if (nvmlUtilization_t utilization{}; library_->utilization(device, &utilization) == NVML_SUCCESS)
    reading.utilization = utilization.gpu / 100.0;
  unsigned long long reasons = 0;
  if (library_->throttle_reasons(device, &reasons) == NVML_SUCCESS)
    reading.throttle_reasons = reasons;
  return reading;
}

std::optional<double> Nvml::energy_j(const std::string& uuid) const {
  unsigned long long energy_mj = 0;
  if (library_->energy(library_->gpu(uuid), &energy_mj) != NVML_SUCCESS) return std::nullopt;
  return static_cast<double>(energy_mj) * 1e-3;
}

void Nvml::watch_xids(const std::vector<std::string>& uuids) {
  if (library_->events == nullptr &&
      library_->event_set_create(&library_->events) != NVML_SUCCESS) {
    library_->events = nullptr;
    return;
  }
  for (const std::string& uuid : uuids) {
    const nvmlDevice_t device = library_->gpu(uuid);
    if (library_->register_events(device, nvmlEventTypeXidCriticalError, library_->events) ==
        NVML_SUCCESS)
      library_->watched.emplace(device, uuid);
  }
}

std::vector<std::int64_t> Nvml::xids(const std::string& uuid) {
  nvmlEventData_t event{};
  while (library_->events != nullptr && !library_->watched.empty() &&
         library_->event_set_wait(library_->events, &event, 0u) == NVML_SUCCESS) {
    const auto device = library_->watched.find(event.device);
    if (device != library_->watched.end() && event.eventType == nvmlEventTypeXidCriticalError)
      library_->xids[device->second].push_back(static_cast<std::int64_t>(event.eventData));
  }
  return library_->xids[uuid];
}

std::vector<std::string> throttle_reason_names(std::uint64_t bits) {
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 7> kNames{{
      {nvmlClocksEventReasonSwPowerCap, kPowerCapReason},
      {nvmlClocksThrottleReasonHwSlowdown, "hw_slowdown"},
      {nvmlClocksEventReasonSyncBoost, "sync_boost"},
      {nvmlClocksEventReasonSwThermalSlowdown, "sw_thermal"},
      {nvmlClocksThrottleReasonHwThermalSlowdown, "hw_thermal"},
      {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "hw_power_brake"},
      {nvmlClocksEventReasonDisplayClockSetting, "display_clock"},
  }};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames)
    if (bits & bit) names.emplace_back(name);
  return names;
}

}  // namespace peakline::cuda

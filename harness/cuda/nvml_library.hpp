#pragma once

// Private to nvml.cpp and nvlinks.cpp.

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace peakline::cuda {

// NVML's entry points, named as in nvml.h. Absent optional ones return "not supported".
struct NvmlLibrary {
  void* handle = nullptr;
  nvmlEventSet_t events = nullptr;
  std::mutex handles_mutex;
  std::map<std::string, nvmlDevice_t, std::less<>> handles;  // cache
  std::map<nvmlDevice_t, std::string> watched;
  std::map<std::string, std::vector<std::int64_t>> xids;

  template <class Function>
  struct Entry {
    Function* function = nullptr;
    template <class... Args>
    nvmlReturn_t operator()(Args... args) const {
      return function == nullptr ? NVML_ERROR_FUNCTION_NOT_FOUND : function(args...);
    }
  };

  Entry<decltype(nvmlInit_v2)> init;
  Entry<decltype(nvmlShutdown)> shutdown;
  const char* (*error_string)(nvmlReturn_t) = nullptr;
  Entry<decltype(nvmlSystemGetDriverVersion)> driver_version;
  Entry<decltype(nvmlSystemGetCudaDriverVersion_v2)> cuda_driver_version;
  Entry<decltype(nvmlSystemGetProcessName)> process_name;
  Entry<decltype(nvmlDeviceGetCount_v2)> count;
  Entry<decltype(nvmlDeviceGetHandleByIndex_v2)> by_index;
  Entry<decltype(nvmlDeviceGetHandleByUUID)> by_uuid;
  Entry<decltype(nvmlDeviceGetUUID)> uuid;
  Entry<decltype(nvmlDeviceGetName)> name;
  Entry<decltype(nvmlDeviceGetPciInfo_v3)> pci_info;
  Entry<decltype(nvmlDeviceGetCudaComputeCapability)> compute_capability;
  Entry<decltype(nvmlDeviceGetMaxClockInfo)> max_clock;
  Entry<decltype(nvmlDeviceGetClockInfo)> clock;
  Entry<decltype(nvmlDeviceGetSupportedGraphicsClocks)> graphics_clocks;
  Entry<decltype(nvmlDeviceGetMemoryInfo)> memory;
  Entry<decltype(nvmlDeviceGetMemoryBusWidth)> bus_width;
  Entry<decltype(nvmlDeviceGetEccMode)> ecc_mode;
  Entry<decltype(nvmlDeviceGetMigMode)> mig_mode;
  Entry<decltype(nvmlDeviceGetMaxMigDeviceCount)> most_mig_instances;
  Entry<decltype(nvmlDeviceGetMigDeviceHandleByIndex)> mig_instance;
  Entry<decltype(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)> gpu_of_mig_instance;
  Entry<decltype(nvmlDeviceGetAttributes_v2)> mig_attributes;
  Entry<decltype(nvmlDeviceGetC2cModeInfoV)> c2c_mode;
  Entry<decltype(nvmlDeviceGetPowerManagementLimit)> power_limit;
  Entry<decltype(nvmlDeviceGetPowerManagementDefaultLimit)> power_limit_default;
  Entry<decltype(nvmlDeviceGetPowerManagementLimitConstraints)> power_limits;
  Entry<decltype(nvmlDeviceGetCurrPcieLinkGeneration)> pcie_generation;
  Entry<decltype(nvmlDeviceGetCurrPcieLinkWidth)> pcie_width;
  Entry<decltype(nvmlDeviceGetMaxPcieLinkGeneration)> pcie_max_generation;
  Entry<decltype(nvmlDeviceGetMaxPcieLinkWidth)> pcie_max_width;
  Entry<decltype(nvmlDeviceGetPcieReplayCounter)> pcie_replays;
  Entry<decltype(nvmlDeviceGetVbiosVersion)> vbios;
  Entry<decltype(nvmlDeviceGetTotalEccErrors)> ecc_errors;
  Entry<decltype(nvmlDeviceGetRemappedRows)> remapped_rows;
  Entry<decltype(nvmlDeviceGetNvLinkState)> nvlink_state;
  Entry<decltype(nvmlDeviceGetNvLinkVersion)> nvlink_version;
  Entry<decltype(nvmlDeviceGetNvLinkRemoteDeviceType)> nvlink_remote_type;
  Entry<decltype(nvmlDeviceGetNvLinkRemotePciInfo_v2)> nvlink_remote_pci;
  Entry<decltype(nvmlDeviceGetP2PStatus)> p2p_status;
  Entry<decltype(nvmlSystemGetConfComputeSettings)> confidential_computing;
  Entry<decltype(nvmlDeviceGetTopologyCommonAncestor)> common_ancestor;
  // Spelled out: newer headers deprecate these forms, which every driver has.
  Entry<nvmlReturn_t(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*)> temperature;
  Entry<nvmlReturn_t(nvmlDevice_t, nvmlGpuFabricInfo_t*)> fabric_info;
  Entry<decltype(nvmlDeviceGetPowerUsage)> power;
  Entry<decltype(nvmlDeviceGetFieldValues)> field_values;
  Entry<decltype(nvmlDeviceGetTotalEnergyConsumption)> energy;
  Entry<decltype(nvmlDeviceGetUtilizationRates)> utilization;
  Entry<decltype(nvmlDeviceGetCurrentClocksEventReasons)> throttle_reasons;
  Entry<decltype(nvmlDeviceGetComputeRunningProcesses_v3)> compute_processes;
  Entry<decltype(nvmlDeviceGetGraphicsRunningProcesses_v3)> graphics_processes;
  Entry<decltype(nvmlEventSetCreate)> event_set_create;
  Entry<decltype(nvmlEventSetFree)> event_set_free;
  Entry<decltype(nvmlDeviceRegisterEvents)> register_events;
  Entry<decltype(nvmlEventSetWait_v2)> event_set_wait;

  template <class Function>
  void load(Entry<Function>& entry, const char* symbol) {
    entry.function = reinterpret_cast<Function*>(dlsym(handle, symbol));
  }

  // Loads and initializes NVML. Throws NvmlUnavailable.
  NvmlLibrary();
  ~NvmlLibrary();

  std::string text_of(nvmlReturn_t code) const {
    return error_string != nullptr ? error_string(code)
                                   : fmt::format("NVML error {}", static_cast<int>(code));
  }
  // The cached handle of a GPU or MIG instance. Throws NvmlUnavailable.
  nvmlDevice_t device(const std::string& wanted);
  // Likewise; for a MIG instance its GPU, which has the clocks, power and counters.
  nvmlDevice_t gpu(const std::string& wanted);

 private:
  nvmlDevice_t look_up(const std::string& wanted) const;
};

}  // namespace peakline::cuda

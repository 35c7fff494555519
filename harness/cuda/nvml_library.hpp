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
  void* handle = open();
  nvmlEventSet_t events = nullptr;
  std::mutex handles_mutex;
  std::map<std::string, nvmlDevice_t, std::less<>> handles;  // cache
  std::map<nvmlDevice_t, std::string> watched;
  std::map<std::string, std::vector<std::int64_t>> xids;

  template <class Function>
  struct Entry {
    Function* function = nullptr;

    // older: the symbol's name in older drivers.
    Entry(void* library, const char* symbol, const char* older = nullptr)
        : function(reinterpret_cast<Function*>(dlsym(library, symbol))) {
      if (function == nullptr && older != nullptr)
        function = reinterpret_cast<Function*>(dlsym(library, older));
    }
    template <class... Args>
    nvmlReturn_t operator()(Args... args) const {
      return function == nullptr ? NVML_ERROR_FUNCTION_NOT_FOUND : function(args...);
    }
  };

  Entry<decltype(nvmlInit_v2)> init{handle, "nvmlInit_v2"};
  Entry<decltype(nvmlShutdown)> shutdown{handle, "nvmlShutdown"};
  const char* (*error_string)(nvmlReturn_t) =
      reinterpret_cast<const char* (*)(nvmlReturn_t)>(dlsym(handle, "nvmlErrorString"));
  Entry<decltype(nvmlSystemGetDriverVersion)> driver_version{handle, "nvmlSystemGetDriverVersion"};
  Entry<decltype(nvmlSystemGetCudaDriverVersion_v2)> cuda_driver_version{
      handle, "nvmlSystemGetCudaDriverVersion_v2"};
  Entry<decltype(nvmlSystemGetProcessName)> process_name{handle, "nvmlSystemGetProcessName"};
  Entry<decltype(nvmlDeviceGetCount_v2)> count{handle, "nvmlDeviceGetCount_v2"};
  Entry<decltype(nvmlDeviceGetHandleByIndex_v2)> by_index{handle, "nvmlDeviceGetHandleByIndex_v2"};
  Entry<decltype(nvmlDeviceGetHandleByUUID)> by_uuid{handle, "nvmlDeviceGetHandleByUUID"};
  Entry<decltype(nvmlDeviceGetUUID)> uuid{handle, "nvmlDeviceGetUUID"};
  Entry<decltype(nvmlDeviceGetName)> name{handle, "nvmlDeviceGetName"};
  Entry<decltype(nvmlDeviceGetPciInfo_v3)> pci_info{handle, "nvmlDeviceGetPciInfo_v3"};
  Entry<decltype(nvmlDeviceGetCudaComputeCapability)> compute_capability{
      handle, "nvmlDeviceGetCudaComputeCapability"};
  Entry<decltype(nvmlDeviceGetMaxClockInfo)> max_clock{handle, "nvmlDeviceGetMaxClockInfo"};
  Entry<decltype(nvmlDeviceGetClockInfo)> clock{handle, "nvmlDeviceGetClockInfo"};
  Entry<decltype(nvmlDeviceGetSupportedGraphicsClocks)> graphics_clocks{
      handle, "nvmlDeviceGetSupportedGraphicsClocks"};
  Entry<decltype(nvmlDeviceGetMemoryInfo)> memory{handle, "nvmlDeviceGetMemoryInfo"};
  Entry<decltype(nvmlDeviceGetMemoryBusWidth)> bus_width{handle, "nvmlDeviceGetMemoryBusWidth"};
  Entry<decltype(nvmlDeviceGetEccMode)> ecc_mode{handle, "nvmlDeviceGetEccMode"};
  Entry<decltype(nvmlDeviceGetMigMode)> mig_mode{handle, "nvmlDeviceGetMigMode"};
  Entry<decltype(nvmlDeviceGetMaxMigDeviceCount)> most_mig_instances{
      handle, "nvmlDeviceGetMaxMigDeviceCount"};
  Entry<decltype(nvmlDeviceGetMigDeviceHandleByIndex)> mig_instance{
      handle, "nvmlDeviceGetMigDeviceHandleByIndex"};
  Entry<decltype(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)> gpu_of_mig_instance{
      handle, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"};
  Entry<decltype(nvmlDeviceGetAttributes_v2)> mig_attributes{handle, "nvmlDeviceGetAttributes_v2"};
  Entry<decltype(nvmlDeviceGetC2cModeInfoV)> c2c_mode{handle, "nvmlDeviceGetC2cModeInfoV"};
  Entry<decltype(nvmlDeviceGetPowerManagementLimit)> power_limit{
      handle, "nvmlDeviceGetPowerManagementLimit"};
  Entry<decltype(nvmlDeviceGetPowerManagementDefaultLimit)> power_limit_default{
      handle, "nvmlDeviceGetPowerManagementDefaultLimit"};
  Entry<decltype(nvmlDeviceGetPowerManagementLimitConstraints)> power_limits{
      handle, "nvmlDeviceGetPowerManagementLimitConstraints"};
  Entry<decltype(nvmlDeviceGetCurrPcieLinkGeneration)> pcie_generation{
      handle, "nvmlDeviceGetCurrPcieLinkGeneration"};
  Entry<decltype(nvmlDeviceGetCurrPcieLinkWidth)> pcie_width{handle,
                                                             "nvmlDeviceGetCurrPcieLinkWidth"};
  Entry<decltype(nvmlDeviceGetMaxPcieLinkGeneration)> pcie_max_generation{
      handle, "nvmlDeviceGetMaxPcieLinkGeneration"};
  Entry<decltype(nvmlDeviceGetMaxPcieLinkWidth)> pcie_max_width{handle,
                                                                "nvmlDeviceGetMaxPcieLinkWidth"};
  Entry<decltype(nvmlDeviceGetPcieReplayCounter)> pcie_replays{handle,
                                                               "nvmlDeviceGetPcieReplayCounter"};
  Entry<decltype(nvmlDeviceGetVbiosVersion)> vbios{handle, "nvmlDeviceGetVbiosVersion"};
  Entry<decltype(nvmlDeviceGetTotalEccErrors)> ecc_errors{handle, "nvmlDeviceGetTotalEccErrors"};
  Entry<decltype(nvmlDeviceGetRemappedRows)> remapped_rows{handle, "nvmlDeviceGetRemappedRows"};
  Entry<decltype(nvmlDeviceGetNvLinkState)> nvlink_state{handle, "nvmlDeviceGetNvLinkState"};
  Entry<decltype(nvmlDeviceGetNvLinkVersion)> nvlink_version{handle, "nvmlDeviceGetNvLinkVersion"};
  Entry<decltype(nvmlDeviceGetNvLinkRemoteDeviceType)> nvlink_remote_type{
      handle, "nvmlDeviceGetNvLinkRemoteDeviceType"};
  Entry<decltype(nvmlDeviceGetNvLinkRemotePciInfo_v2)> nvlink_remote_pci{
      handle, "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
  Entry<decltype(nvmlDeviceGetP2PStatus)> p2p_status{handle, "nvmlDeviceGetP2PStatus"};
  Entry<decltype(nvmlSystemGetConfComputeSettings)> confidential_computing{
      handle, "nvmlSystemGetConfComputeSettings"};
  Entry<decltype(nvmlDeviceGetTopologyCommonAncestor)> common_ancestor{
      handle, "nvmlDeviceGetTopologyCommonAncestor"};
  // Spelled out: newer headers deprecate these forms, which every driver has.
  Entry<nvmlReturn_t(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*)> temperature{
      handle, "nvmlDeviceGetTemperature"};
  Entry<decltype(nvmlDeviceGetMarginTemperature)> margin_temperature{
      handle, "nvmlDeviceGetMarginTemperature"};
  Entry<nvmlReturn_t(nvmlDevice_t, nvmlGpuFabricInfo_t*)> fabric_info{handle,
                                                                      "nvmlDeviceGetGpuFabricInfo"};
  Entry<decltype(nvmlDeviceGetPowerUsage)> power{handle, "nvmlDeviceGetPowerUsage"};
  Entry<decltype(nvmlDeviceGetFieldValues)> field_values{handle, "nvmlDeviceGetFieldValues"};
  Entry<decltype(nvmlDeviceGetTotalEnergyConsumption)> energy{
      handle, "nvmlDeviceGetTotalEnergyConsumption"};
  Entry<decltype(nvmlDeviceGetUtilizationRates)> utilization{handle,
                                                             "nvmlDeviceGetUtilizationRates"};
  Entry<decltype(nvmlDeviceGetCurrentClocksEventReasons)> throttle_reasons{
      handle, "nvmlDeviceGetCurrentClocksEventReasons",
      "nvmlDeviceGetCurrentClocksThrottleReasons"};
  Entry<decltype(nvmlDeviceGetComputeRunningProcesses_v3)> compute_processes{
      handle, "nvmlDeviceGetComputeRunningProcesses_v3"};
  Entry<decltype(nvmlDeviceGetGraphicsRunningProcesses_v3)> graphics_processes{
      handle, "nvmlDeviceGetGraphicsRunningProcesses_v3"};
  Entry<decltype(nvmlEventSetCreate)> event_set_create{handle, "nvmlEventSetCreate"};
  Entry<decltype(nvmlEventSetFree)> event_set_free{handle, "nvmlEventSetFree"};
  Entry<decltype(nvmlDeviceRegisterEvents)> register_events{handle, "nvmlDeviceRegisterEvents"};
  Entry<decltype(nvmlEventSetWait_v2)> event_set_wait{handle, "nvmlEventSetWait_v2"};

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
  static void* open();
  nvmlDevice_t look_up(const std::string& wanted) const;
};

}  // namespace peakline::cuda

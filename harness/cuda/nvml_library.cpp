#include "harness/cuda/nvml_library.hpp"

#include <array>

#include "harness/cuda/nvml_unavailable.hpp"

namespace peakline::cuda {

NvmlLibrary::NvmlLibrary() {
  handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw NvmlUnavailable("no NVIDIA driver: libnvidia-ml.so.1 cannot be loaded");
  load(init, "nvmlInit_v2");
  load(shutdown, "nvmlShutdown");
  error_string = reinterpret_cast<const char* (*)(nvmlReturn_t)>(dlsym(handle, "nvmlErrorString"));
  load(driver_version, "nvmlSystemGetDriverVersion");
  load(cuda_driver_version, "nvmlSystemGetCudaDriverVersion_v2");
  load(process_name, "nvmlSystemGetProcessName");
  load(count, "nvmlDeviceGetCount_v2");
  load(by_index, "nvmlDeviceGetHandleByIndex_v2");
  load(by_uuid, "nvmlDeviceGetHandleByUUID");
  load(uuid, "nvmlDeviceGetUUID");
  load(name, "nvmlDeviceGetName");
  load(pci_info, "nvmlDeviceGetPciInfo_v3");
  load(compute_capability, "nvmlDeviceGetCudaComputeCapability");
  load(max_clock, "nvmlDeviceGetMaxClockInfo");
  load(clock, "nvmlDeviceGetClockInfo");
  load(graphics_clocks, "nvmlDeviceGetSupportedGraphicsClocks");
  load(memory, "nvmlDeviceGetMemoryInfo");
  load(bus_width, "nvmlDeviceGetMemoryBusWidth");
  load(ecc_mode, "nvmlDeviceGetEccMode");
  load(mig_mode, "nvmlDeviceGetMigMode");
  load(most_mig_instances, "nvmlDeviceGetMaxMigDeviceCount");
  load(mig_instance, "nvmlDeviceGetMigDeviceHandleByIndex");
  load(gpu_of_mig_instance, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  load(mig_attributes, "nvmlDeviceGetAttributes_v2");
  load(c2c_mode, "nvmlDeviceGetC2cModeInfoV");
  load(power_limit, "nvmlDeviceGetPowerManagementLimit");
  load(power_limit_default, "nvmlDeviceGetPowerManagementDefaultLimit");
  load(power_limits, "nvmlDeviceGetPowerManagementLimitConstraints");
  load(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  load(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  load(pcie_max_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  load(pcie_max_width, "nvmlDeviceGetMaxPcieLinkWidth");
  load(pcie_replays, "nvmlDeviceGetPcieReplayCounter");
  load(vbios, "nvmlDeviceGetVbiosVersion");
  load(ecc_errors, "nvmlDeviceGetTotalEccErrors");
  load(remapped_rows, "nvmlDeviceGetRemappedRows");
  load(nvlink_state, "nvmlDeviceGetNvLinkState");
  load(nvlink_version, "nvmlDeviceGetNvLinkVersion");
  load(nvlink_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  load(nvlink_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  load(p2p_status, "nvmlDeviceGetP2PStatus");
  load(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
  load(confidential_computing, "nvmlSystemGetConfComputeSettings");
  load(temperature, "nvmlDeviceGetTemperature");
  load(fabric_info, "nvmlDeviceGetGpuFabricInfo");
  load(power, "nvmlDeviceGetPowerUsage");
  load(field_values, "nvmlDeviceGetFieldValues");
  load(energy, "nvmlDeviceGetTotalEnergyConsumption");
  load(utilization, "nvmlDeviceGetUtilizationRates");
  load(throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  if (throttle_reasons.function == nullptr)
    load(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  load(compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  load(graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3");
  load(event_set_create, "nvmlEventSetCreate");
  load(event_set_free, "nvmlEventSetFree");
  load(register_events, "nvmlDeviceRegisterEvents");
  load(event_set_wait, "nvmlEventSetWait_v2");

  const nvmlReturn_t code = init();
  if (code == NVML_SUCCESS) return;
  std::string why = text_of(code);
  if (code == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
    why += " (the driver was updated: reload the kernel module or reboot)";
  if (code == NVML_ERROR_DRIVER_NOT_LOADED) why += " (is the nvidia kernel module loaded?)";
  if (code == NVML_ERROR_NO_PERMISSION) why += " (may this user access /dev/nvidia*?)";
  dlclose(handle);
  throw NvmlUnavailable("NVIDIA driver: " + why);
}

NvmlLibrary::~NvmlLibrary() {
  if (events != nullptr) event_set_free(events);
  shutdown();
  dlclose(handle);
}

nvmlDevice_t NvmlLibrary::device(const std::string& wanted) {
  const std::lock_guard lock(handles_mutex);
  const auto known = handles.find(wanted);
  if (known != handles.end()) return known->second;
  return handles.emplace(wanted, look_up(wanted)).first->second;
}

nvmlDevice_t NvmlLibrary::gpu(const std::string& wanted) {
  const nvmlDevice_t found = device(wanted);
  nvmlDevice_t whole = nullptr;
  return gpu_of_mig_instance(found, &whole) == NVML_SUCCESS ? whole : found;
}

nvmlDevice_t NvmlLibrary::look_up(const std::string& wanted) const {
  nvmlDevice_t found = nullptr;
  const nvmlReturn_t code = by_uuid(wanted.c_str(), &found);
  if (code == NVML_SUCCESS) return found;
  // NVML gives up its search by UUID if any device has fallen off the bus.
  unsigned devices = 0;
  count(&devices);
  for (unsigned index = 0; index < devices; ++index) {
    std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> text{};
    if (by_index(index, &found) == NVML_SUCCESS &&
        uuid(found, text.data(), static_cast<unsigned>(text.size())) == NVML_SUCCESS &&
        wanted == text.data())
      return found;
  }
  throw NvmlUnavailable(fmt::format("GPU {}: {}", wanted, text_of(code)));
}

}  // namespace peakline::cuda

#include "harness/cuda/nvml_library.hpp"

#include <array>

#include "harness/cuda/nvml_unavailable.hpp"

namespace peakline::cuda {

void* NvmlLibrary::open() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw NvmlUnavailable("no NVIDIA driver here (libnvidia-ml.so.1 cannot be loaded)");
  return library;
}

NvmlLibrary::NvmlLibrary() {
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

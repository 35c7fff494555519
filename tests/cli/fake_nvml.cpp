// A driver library with two devices that no CUDA runtime knows, to be found in place of the real
// one through LD_LIBRARY_PATH: what the command line says of drivers and devices can so be tested
// on every machine. Set by the environment:
//   FAKE_NVML_INIT     what nvmlInit answers (an nvmlReturn_t)
//   FAKE_NVML_DEVICE1  what opening the second device answers
//   FAKE_NVML_CUDA     the CUDA version that the driver supports, 12020 for 12.2

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

nvmlDevice_t handle(unsigned index) { return reinterpret_cast<nvmlDevice_t>(index + 1ul); }
unsigned index_of(nvmlDevice_t device) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long>(device) - 1);
}

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
  for (unsigned i = 0; i < 2; ++i) {
    if (std::strcmp(uuid, kUuids[i]) != 0) continue;
    *device = handle(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", kUuids[index_of(device)]);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char* text, unsigned size) {
  std::snprintf(text, size, "Fake GPU");
  return NVML_SUCCESS;
}

// Another process is on the first device.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* infos) {
  *count = index_of(device) == 0 ? 1 : 0;
  if (*count == 1)
    infos[0] = {.pid = 4711, .usedGpuMemory = 1 << 20, .gpuInstanceId = 0, .computeInstanceId = 0};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned, char* text, unsigned size) {
  std::snprintf(text, size, "neighbour");
  return NVML_SUCCESS;
}
}

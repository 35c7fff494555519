#include "harness/cuda/device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "harness/cuda/check.hpp"
#include "harness/cuda/memory.hpp"

namespace peakline::cuda {
namespace {

constexpr double kHzPerKHz = 1e3;

template <class T>
std::optional<T> known(T value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

// An attribute that is above 0 on every device, times `unit`; 0 means that the driver does not
// know.
std::optional<double> attribute(cudaDeviceAttr which, int device, double unit) {
  int value = 0;
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return known(value * unit);
}

// Where this process sees a MIG instance, the UUID is that of the instance.
std::string uuid_text(const cudaUUID_t& uuid) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const bool mig = visible != nullptr && std::string_view(visible).starts_with("MIG-");
  std::string text = mig ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

void check(cudaError_t code, const char* expression, const char* file, int line) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // clears it, so that the next check reports its own error
  std::string_view place = file;
  if (const auto slash = place.rfind('/'); slash != std::string_view::npos)
    place.remove_prefix(slash + 1);
  throw CudaError(fmt::format("{}: {} ({}) in {} at {}:{}", cudaGetErrorName(code),
                              cudaGetErrorString(code), static_cast<int>(code), expression, place,
                              line));
}

bool context_lost() {
  cudaGetLastError();
  return cudaDeviceSynchronize() != cudaSuccess;
}

DeviceFacts device_facts() {
  int device = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  PEAKLINE_CUDA(cudaFree(nullptr));  // creates the context
  cudaDeviceProp properties{};
  PEAKLINE_CUDA(cudaGetDeviceProperties(&properties, device));
  DeviceFacts facts;
  facts.uuid = uuid_text(properties.uuid);
  facts.name = properties.name;
  facts.pci_bus_id = fmt::format("{:08x}:{:02x}:{:02x}.0", properties.pciDomainID,
                                 properties.pciBusID, properties.pciDeviceID);
  facts.compute_major = properties.major;
  facts.compute_minor = properties.minor;
  facts.sm_count = known(properties.multiProcessorCount);
  facts.sm_clock_max_hz = attribute(cudaDevAttrClockRate, device, kHzPerKHz);
  facts.memory_clock_max_hz = attribute(cudaDevAttrMemoryClockRate, device, kHzPerKHz);
  facts.memory_bus_bits = known(properties.memoryBusWidth);
  facts.memory_bytes = known(static_cast<double>(properties.totalGlobalMem));
  facts.memory_free_bytes = free_memory_bytes();
  facts.l2_bytes = known(static_cast<double>(properties.l2CacheSize));
  facts.shared_per_sm_bytes = known(static_cast<double>(properties.sharedMemPerMultiprocessor));
  facts.integrated = properties.integrated != 0;
  return facts;
}

std::string runtime_version() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) return "";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace peakline::cuda

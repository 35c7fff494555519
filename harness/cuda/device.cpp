#include "harness/cuda/device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "harness/cuda/errors.hpp"
#include "harness/cuda/memory.hpp"
#include "harness/cuda/properties.hpp"
#include "harness/values/clock.hpp"

namespace peakline::cuda {
namespace {

// Creates the current device's context. On an exclusive device, the last process may still be
// ending.
void create_context() {
  constexpr double kLongestEndSeconds = 3;
  const double from_s = now_s();
  cudaError_t code = cudaFree(nullptr);
  while (code == cudaErrorDevicesUnavailable && now_s() < from_s + kLongestEndSeconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cudaGetLastError();
    code = cudaFree(nullptr);
  }
  PEAKLINE_CUDA(code);
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  PEAKLINE_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

}  // namespace

void check(cudaError_t code, const char* expression, const char* file, int line) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // clears it for the next check
  std::string_view place = file;
  if (const auto slash = place.rfind('/'); slash != std::string_view::npos)
    place.remove_prefix(slash + 1);
  // GPUs behind NVSwitches refuse CUDA calls until Fabric Manager has set up the links.
  const char* remedy =
      code == cudaErrorSystemNotReady
          ? ": start Fabric Manager of the driver's version (systemctl start nvidia-fabricmanager)"
          : "";
  throw CudaError(fmt::format("{}: {} ({}) in {} at {}:{}{}", cudaGetErrorName(code),
                              cudaGetErrorString(code), static_cast<int>(code), expression, place,
                              line, remedy));
}

bool context_lost() {
  cudaGetLastError();
  return cudaDeviceSynchronize() != cudaSuccess;
}

DeviceFacts device_facts() {
  int device = 0;
  PEAKLINE_CUDA(cudaGetDevice(&device));
  create_context();
  cudaDeviceProp found{};
  PEAKLINE_CUDA(cudaGetDeviceProperties(&found, device));
  const RuntimeProperties properties{
      .uuid = std::bit_cast<std::array<unsigned char, 16>>(found.uuid),
      .name = found.name,
      .pci_domain = found.pciDomainID,
      .pci_bus = found.pciBusID,
      .pci_slot = found.pciDeviceID,
      .major = found.major,
      .minor = found.minor,
      .multi_processor_count = found.multiProcessorCount,
      .clock_rate_khz = attribute(cudaDevAttrClockRate, device),
      .memory_clock_rate_khz = attribute(cudaDevAttrMemoryClockRate, device),
      .memory_bus_width_bits = found.memoryBusWidth,
      .total_global_mem_bytes = static_cast<double>(found.totalGlobalMem),
      .free_bytes = free_memory_bytes(),
      .l2_cache_size_bytes = static_cast<double>(found.l2CacheSize),
      .shared_mem_per_multiprocessor_bytes = static_cast<double>(found.sharedMemPerMultiprocessor),
      .integrated = found.integrated != 0};
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return facts_of(properties, visible == nullptr ? "" : visible);
}

std::string runtime_version() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) return "";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace peakline::cuda

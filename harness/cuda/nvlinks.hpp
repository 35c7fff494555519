#pragma once

// How the GPUs of a node are connected, as NVML says it.

#include <nvml.h>

#include <optional>
#include <vector>

#include "harness/cuda/nvml_library.hpp"
#include "harness/values/facts.hpp"

namespace peakline::cuda {

NvLinks nvlinks_of(const NvmlLibrary& nvml, nvmlDevice_t device);

// NVLink-C2C; nullopt: there is none, or it is off.
std::optional<C2cLinks> c2c_of(const NvmlLibrary& nvml, nvmlDevice_t device);

// Fills in the peers of each device. handles: of the devices, nullptr where one cannot be opened.
void add_peers(const NvmlLibrary& nvml, const std::vector<nvmlDevice_t>& handles,
               std::vector<DeviceFacts>& devices);

}  // namespace peakline::cuda

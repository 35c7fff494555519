#pragma once

// How NVML says that the GPUs of a node are connected.

#include <nvml.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/cuda/nvml_library.hpp"
#include "harness/values/facts.hpp"

namespace peakline::cuda {

NvLinks nvlinks_of(const NvmlLibrary& nvml, nvmlDevice_t device);

// A counter's value, whatever its type; nullopt: not supported.
std::optional<std::int64_t> count_of(const nvmlFieldValue_t& field);
// Without links whose counters are all unknown.
std::vector<NvLinkCounters> nvlink_counters_of(const NvmlLibrary& nvml, nvmlDevice_t device);

// nullopt: none, or off.
std::optional<C2cLinks> c2c_of(const NvmlLibrary& nvml, nvmlDevice_t device);

// Adds each device's peers. handles: nullptr for devices that cannot be opened.
void add_peers(const NvmlLibrary& nvml, const std::vector<nvmlDevice_t>& handles,
               std::vector<DeviceFacts>& devices);

}  // namespace peakline::cuda

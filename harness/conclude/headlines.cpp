#include "harness/conclude/headlines.hpp"

#include <array>
#include <string_view>
#include <vector>

#include "harness/conclude/device_labels.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/measurement.hpp"

namespace peakline {
namespace {

struct Wanted {
  const char* label;  // nullptr: the resource's label on the device
  const char* resource;
  Basis basis;
  Basis reference = Basis::kDatasheet;  // published, else computed
};
constexpr Wanted kPcieToDevice = {nullptr, "pcie.h2d", Basis::kMeasured};
// Most important first, as space may be limited.
constexpr std::array kAnyGpu = {Wanted{nullptr, "hbm.read", Basis::kMeasured}, kPcieToDevice,
                                Wanted{"FP32 CUDA cores", "cuda_core.fp32", Basis::kBurst}};
constexpr std::array kBf16 = {Wanted{"BF16 burst", "tensor.bf16", Basis::kBurst},
                              Wanted{"BF16 sustained", "tensor.bf16", Basis::kSustained}};
constexpr std::array kFp16 = {Wanted{"FP16 burst", "tensor.fp16", Basis::kBurst},
                              Wanted{"FP16 sustained", "tensor.fp16", Basis::kSustained}};
constexpr std::array kWrite = {Wanted{nullptr, "hbm.write", Basis::kMeasured}};
constexpr std::array kFp8 = {Wanted{"FP8 burst", "tensor.fp8", Basis::kBurst},
                             Wanted{"FP8 sustained", "tensor.fp8", Basis::kSustained}};
constexpr std::array kHost = {Wanted{"memory read", "memory.read", Basis::kMeasured},
                              Wanted{"memory copy", "memory.copy", Basis::kMeasured},
                              Wanted{"memory triad", "memory.triad", Basis::kMeasured},
                              Wanted{"FP64", "cpu.fp64", Basis::kMeasured},
                              Wanted{"FP32", "cpu.fp32", Basis::kMeasured}};

constexpr std::array kNode = {Wanted{"NVLink read", "nvlink.read", Basis::kMeasured},
                              Wanted{"NVLink write", "nvlink.write", Basis::kMeasured},
                              Wanted{"NVLink both ways", "nvlink.bidirectional", Basis::kMeasured},
                              Wanted{"NCCL all-reduce", "nccl.all_reduce.busbw", Basis::kMeasured},
                              Wanted{"NCCL all-to-all", "nccl.all_to_all.busbw", Basis::kMeasured}};

std::vector<Wanted> wanted_of(const DeviceView& device) {
  const DeviceFacts* const gpu = device.facts;
  if (device.is_node()) return {kNode.begin(), kNode.end()};
  if (gpu == nullptr) return {kHost.begin(), kHost.end()};
  const auto has = [&](const char* resource) {
    return ops_per_clock_per_sm(gpu->compute_major, gpu->compute_minor, resource).has_value();
  };
  std::vector<Wanted> wanted(kAnyGpu.begin(), kAnyGpu.end());
  const auto add = [&](const auto& more) { wanted.insert(wanted.end(), more.begin(), more.end()); };
  // FP16 replaces BF16 on devices without it (7.5).
  add(!has("tensor.bf16") && has("tensor.fp16") ? kFp16 : kBf16);
  add(kWrite);
  if (has("tensor.fp8")) add(kFp8);
  return wanted;
}

std::string why_missing(const Profile& profile, const std::string& device, const Wanted& wanted) {
  for (const MissingCeiling& row : profile.missing_ceilings)
    if (row.device == device && row.resource == wanted.resource && row.basis == wanted.basis)
      return row.reason;
  return std::string(kNotMeasured);
}

// Replaces PCIe by the device's link.
Wanted on_device(Wanted wanted, const DeviceFacts* gpu) {
  constexpr Wanted kC2c = {nullptr, "c2c.h2d", Basis::kMeasured};
  const bool c2c = gpu != nullptr && gpu->c2c.has_value();
  return c2c && std::string_view(wanted.resource) == kPcieToDevice.resource ? kC2c : wanted;
}

Headline headline(const Profile& profile, const std::string& device, const DeviceFacts* gpu,
                  const Wanted& wanted) {
  Headline result{.device = device,
                  .label = wanted.label != nullptr || gpu == nullptr
                               ? wanted.label
                               : label_on(resource(wanted.resource), *gpu),
                  .resource = wanted.resource,
                  .basis = wanted.basis,
                  .reference = std::nullopt,
                  .missing = {}};
  if (find_ceiling(profile.ceilings, device, wanted.resource, wanted.basis) == nullptr)
    result.missing = why_missing(profile, device, wanted);
  for (const Basis basis : {wanted.reference, Basis::kTheoretical}) {
    if (result.reference ||
        find_ceiling(profile.ceilings, device, wanted.resource, basis) == nullptr)
      continue;
    result.reference = basis;
  }
  return result;
}

}  // namespace

std::vector<Headline> derive_headlines(const Profile& profile) {
  std::vector<Headline> headlines;
  for (const DeviceView& device : device_views(profile)) {
    if (device.facts == nullptr && device.measurements.empty()) continue;
    for (const Wanted& wanted : wanted_of(device))
      headlines.push_back(headline(profile, std::string(device.name()), device.facts,
                                   on_device(wanted, device.facts)));
  }
  return headlines;
}

void use_own_labels(Profile& profile) {
  for (Resource& row : profile.resources)
    if (const Resource* const known = find_resource(row.name))
      row.label = label_in(*known, profile);
  for (const Headline& own : derive_headlines(profile))
    for (Headline& row : profile.headlines)
      if (row.device == own.device && row.resource == own.resource && row.basis == own.basis)
        row.label = own.label;
}

}  // namespace peakline

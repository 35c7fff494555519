#include "harness/conclude/headlines.hpp"

#include <optional>
#include <string>
#include <vector>

#include "harness/conclude/device_labels.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/labels.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/text.hpp"

namespace peakline {
namespace {

struct Wanted {
  std::string resource;
  Basis basis = Basis::kMeasured;
  std::string label = {};  // empty: the resource's on the device
};

// Most important first, as space may be limited. The choice spans questions, so none can state it.
std::vector<Wanted> wanted_of(const DeviceView& device) {
  if (device.is_node())
    return {{"nvlink.read"},
            {"nvlink.write"},
            {"nvlink.bidirectional"},
            {"nccl.all_reduce.busbw"},
            {"nccl.all_to_all.busbw"}};
  if (device.facts == nullptr)
    return {{"memory.read"},
            {"memory.copy", Basis::kMeasured, "memory copy"},
            {"memory.triad", Basis::kMeasured, "memory triad"},
            {"cpu.fp64", Basis::kMeasured, "FP64"},
            {"cpu.fp32", Basis::kMeasured, "FP32"}};
  const DeviceFacts& gpu = *device.facts;
  std::vector<Wanted> wanted = {
      {"hbm.read"}, {host_link_resource(gpu, "h2d")}, {"cuda_core.fp32", Basis::kBurst}};
  const auto has = [&](const char* resource) {
    return ops_per_clock_per_sm(gpu.compute_major, gpu.compute_minor, resource).has_value();
  };
  const auto add_loads = [&](const std::string& precision) {
    for (const Basis basis : {Basis::kBurst, Basis::kSustained})
      wanted.push_back({"tensor." + precision, basis, ceiling_label(upper(precision), basis)});
  };
  // FP16 replaces BF16 on devices without it (7.5).
  add_loads(!has("tensor.bf16") && has("tensor.fp16") ? "fp16" : "bf16");
  wanted.push_back({"hbm.write"});
  if (has("tensor.fp8")) add_loads("fp8");
  return wanted;
}

std::string why_missing(const DeviceView& device, const Wanted& wanted) {
  const MissingCeiling* row = device.missing(wanted.resource, wanted.basis);
  return row == nullptr ? std::string(kNotTried) : row->reason;
}

Headline headline(const DeviceView& device, const Wanted& wanted) {
  const auto has = [&](Basis basis) { return device.ceiling(wanted.resource, basis) != nullptr; };
  const Resource& of = resource(wanted.resource);
  return {.device = std::string(device.name()),
          .label = !wanted.label.empty()     ? wanted.label
                   : device.facts == nullptr ? of.label
                                             : label_on(of, *device.facts),
          .resource = wanted.resource,
          .basis = wanted.basis,
          .reference = has(Basis::kDatasheet)     ? std::optional(Basis::kDatasheet)
                       : has(Basis::kTheoretical) ? std::optional(Basis::kTheoretical)
                                                  : std::nullopt,
          .missing = has(wanted.basis) ? "" : why_missing(device, wanted)};
}

}  // namespace

std::vector<Headline> derive_headlines(const Profile& profile) {
  std::vector<Headline> headlines;
  for (const DeviceView& device : device_views(profile)) {
    if (device.facts == nullptr && device.measurements.empty()) continue;
    for (const Wanted& wanted : wanted_of(device)) headlines.push_back(headline(device, wanted));
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

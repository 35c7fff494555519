#include "harness/core/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/comparison/sides.hpp"

namespace peakline {
namespace {

std::string name_of(const Runs& runs) {
  const DeviceFacts* gpu = runs[0].facts;
  return gpu != nullptr ? fmt::format("GPU {} · {}", gpu->index, gpu->name)
                        : fmt::format("host · {}", runs[0].profile->host.cpu_model);
}

DeviceComparison compared(const DevicePair& pair, double threshold) {
  DeviceComparison device;
  device.base_name = name_of(pair.base);
  device.next_name = name_of(pair.next);
  device.same_model = model_of(pair.base[0]) == model_of(pair.next[0]);
  compare_ceilings(pair, threshold, device);
  compare_curves(pair, threshold, device);
  compare_conditions(pair, device);
  return device;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  static constexpr std::array<std::string_view, 5> kNames = {"faster", "slower", "same",
                                                             "inconclusive", "not_judged"};
  return kNames[static_cast<std::size_t>(verdict)];
}

CompareResult compare(std::span<const Profile> base, std::span<const Profile> next,
                      const CompareOptions& options) {
  CompareResult result;
  result.base_runs = base.size();
  result.next_runs = next.size();
  result.threshold = options.threshold;
  const PairedDevices devices = pair_devices(base, next);
  for (const DevicePair& pair : devices.pairs) {
    result.devices.push_back(compared(pair, options.threshold));
  }
  std::ranges::transform(devices.only_base, std::back_inserter(result.only_base), name_of);
  std::ranges::transform(devices.only_next, std::back_inserter(result.only_next), name_of);
  return result;
}

bool has_regression(const CompareResult& result) {
  return std::ranges::any_of(result.devices, [](const DeviceComparison& device) {
    return std::ranges::find(device.ceilings, Verdict::kSlower, &CeilingComparison::verdict) !=
           device.ceilings.end();
  });
}

}  // namespace peakline

#include "harness/core/findings.hpp"

#include <fmt/format.h>

#include "harness/core/findings/subjects.hpp"

namespace peakline {
namespace {

constexpr std::size_t kNamesShown = 3;

}  // namespace

std::string shortened(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesShown);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  const std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  return names.size() == shown ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

std::vector<Finding> derive_findings(const Profile& profile, Benchmarks benchmarks) {
  Collector out;
  machine_findings(profile, out);
  for (const DeviceView& device : device_views(profile)) {
    out.about(device.name());
    if (const DeviceFacts* gpu = device.facts) {
      if (!gpu->unusable.empty()) {
        out.add("device_unusable", Severity::kError,
                fmt::format("The device could not be measured: {}.", gpu->unusable),
                {{"reason", gpu->unusable}});
      }
      clock_findings(device, benchmarks, out);
      health_findings(*gpu, out);
      configuration_findings(*gpu, out);
      memory_findings(device, out);
      link_findings(device, out);
    }
    if (device.is_node()) node_findings(device, out);
    measurement_findings(device, benchmarks, out);
  }
  return std::move(out).worst_first();
}

}  // namespace peakline

#include "harness/conclude/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/conclude/findings/subjects.hpp"

namespace peakline {

bool matters(const Finding& finding) {
  return finding.severity > Severity::kInfo ||
         std::ranges::find(kForTheRecord, finding.code) == kForTheRecord.end();
}

std::vector<Finding> findings_of_facts(const DeviceView& device) {
  Collector out;
  out.about(device.name());
  if (device.facts != nullptr) {
    thermal_findings(device, out);
    health_findings(device, out);
    configuration_findings(*device.facts, out);
  }
  failures(device, out);
  return std::move(out).worst_first();
}

std::vector<Finding> derive_findings(const Profile& profile, Benchmarks benchmarks,
                                     std::span<const BrokenTopic> broken) {
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
      health_findings(device, out);
      configuration_findings(*gpu, out);
      memory_findings(device, out);
      link_findings(device, out);
    }
    if (device.is_node()) node_findings(device, out);
    result_findings(device, benchmarks, out);
    measurement_findings(device, benchmarks, out);
    for (const BrokenTopic& topic : broken)
      if (topic.device == device.name())
        out.add("broken_topic", Severity::kError,
                fmt::format("Nothing is said of \"{}\", owing to a mistake in peakline: {}.",
                            topic.topic, topic.why),
                {{topic.topic, topic.why}});
  }
  return std::move(out).worst_first();
}

}  // namespace peakline

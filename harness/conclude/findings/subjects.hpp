#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/conclude/benchmark.hpp"
#include "harness/values/device_view.hpp"
#include "harness/values/text.hpp"

namespace peakline {

using Evidence = std::vector<std::pair<std::string, std::string>>;

// Collects findings about one device (UUID, "host", or "" for the machine) at a time.
class Collector {
 public:
  void about(std::string_view device) { device_ = device; }
  void add(std::string code, Severity severity, std::string message, Evidence evidence) {
    findings_.push_back(
        {std::move(code), severity, device_, std::move(message), std::move(evidence)});
  }
  std::vector<Finding> worst_first() && {
    std::ranges::stable_sort(findings_, std::ranges::greater{}, &Finding::severity);
    return std::move(findings_);
  }

 private:
  std::vector<Finding> findings_;
  std::string device_;
};

// A measurement's name, clock, power and temperature.
Evidence conditions_of(const Measurement& m);
// Whether the measurement counts compared and wrong words.
bool compares_results(const Measurement& measurement);

void machine_findings(const Profile& profile, Collector& out);
void thermal_findings(const DeviceView& gpu, Collector& out);
void clock_findings(const DeviceView& gpu, Benchmarks benchmarks, Collector& out);
void health_findings(const DeviceView& gpu, Collector& out);
void configuration_findings(const DeviceFacts& gpu, Collector& out);
void memory_findings(const DeviceView& gpu, Collector& out);
void link_findings(const DeviceView& gpu, Collector& out);
void node_findings(const DeviceView& node, Collector& out);
void result_findings(const DeviceView& device, Benchmarks benchmarks, Collector& out);
// Measurements that failed.
void failures(const DeviceView& device, Collector& out);
void measurement_findings(const DeviceView& device, Benchmarks benchmarks, Collector& out);

}  // namespace peakline

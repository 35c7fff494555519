// What holds for the whole machine, and for this build of peakline.

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/findings/subjects.hpp"

namespace peakline {
namespace {

void virtualized(const HostFacts& host, Collector& out) {
  if (host.virtualization.empty()) return;
  const bool container = in_container(host), machine = in_virtual_machine(host);
  out.add("virtualized", Severity::kInfo,
          fmt::format("Measured inside a {} ({}): host figures are limited to its share of CPU and "
                      "memory{}.",
                      container && machine ? "container in a virtual machine"
                      : container          ? "container"
                                           : "virtual machine",
                      host.virtualization,
                      machine ? " and vary by tens of percent from run to run, and the PCIe "
                                "topology is the guest's"
                              : ""),
          {{"virtualization", host.virtualization}});
}

void cpu_quota(const HostFacts& host, Collector& out) {
  if (!host.cpu_quota || !host.hardware_threads || *host.cpu_quota >= *host.hardware_threads)
    return;
  const std::string quota = fmt::format("{:.3g}", *host.cpu_quota);
  out.add("cpu_quota", Severity::kWarning,
          fmt::format("The container may use only {} of {} CPUs: host figures are bound by that "
                      "quota.",
                      quota, *host.hardware_threads),
          {{"cpu_quota", quota}, {"hardware_threads", std::to_string(*host.hardware_threads)}});
}

void build(const SoftwareFacts& software, Collector& out) {
  if (software.git_revision.ends_with("-dirty")) {
    out.add("dirty_build", Severity::kInfo,
            "peakline was built from a tree with uncommitted changes: its revision alone does not "
            "reproduce this run.",
            {{"git_revision", software.git_revision}});
  }
  const std::string& type = software.build_type;
  if (!type.empty() && type != "Release" && type != "RelWithDebInfo") {
    out.add("debug_build", Severity::kWarning,
            fmt::format("This is a {} build of peakline: host figures are too low and launches "
                        "take too long.",
                        type),
            {{"build_type", type}});
  }
}

}  // namespace

void machine_findings(const Profile& profile, Collector& out) {
  const auto& environment = profile.software.environment;
  if (!environment.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : environment) names.push_back(name + '=' + value);
    out.add(
        "environment", Severity::kWarning,
        fmt::format("Environment variables that affect results were set: {}.", shortened(names)),
        environment);
  }
  if (std::ranges::find(profile.command, "--no-verify") != profile.command.end()) {
    out.add("unverified", Severity::kWarning,
            "Results were not verified (--no-verify): wrong ones would go unnoticed.",
            {{"option", "--no-verify"}});
  }
  virtualized(profile.host, out);
  cpu_quota(profile.host, out);
  const std::string& governor = profile.host.cpu_governor;
  if (!governor.empty() && governor != "performance") {
    out.add("cpu_governor", Severity::kInfo,
            fmt::format("The CPU frequency governor is '{}', not 'performance': host figures and "
                        "launch costs may vary.",
                        governor),
            {{"governor", governor}});
  }
  build(profile.software, out);
}

}  // namespace peakline

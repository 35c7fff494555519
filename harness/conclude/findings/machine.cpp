#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/conclude/findings/subjects.hpp"

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

void assumed_spreads(const Profile& profile, Collector& out) {
  const auto assumed = std::ranges::find_if(
      profile.ceilings, [](const Ceiling& row) { return row.spread && row.spread->assumed(); });
  if (assumed == profile.ceilings.end()) return;
  const std::string& model = assumed->spread->assumed_from;
  out.add(
      "assumed_spread", Severity::kInfo,
      fmt::format("How far runs of this GPU differ is not known: its intervals are assumed from "
                  "the {}, twice as wide. peakline run --runs 5 measures it.",
                  model),
      {{"assumed_from", model}});
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

// Reports CPUs withheld by the affinity mask, which the user can change, apart from those withheld
// by the cpuset, which belong to others. A batch system that assigns CPUs by mask alone looks like
// a binding.
void withheld_cpus(const HostFacts& host, Collector& out) {
  if (!host.hardware_threads || !host.usable_threads) return;
  const int all = *host.hardware_threads, usable = *host.usable_threads;
  const int share = std::min(host.cpuset_threads.value_or(all), all);
  // A quota, in whole CPUs, has its own finding.
  const double quota = std::max(std::floor(host.cpu_quota.value_or(all)), 1.0);
  std::vector<std::pair<std::string, std::string>> evidence = {
      {"usable_threads", std::to_string(usable)}, {"hardware_threads", std::to_string(all)}};
  if (host.cpuset_threads) evidence.emplace_back("cpuset_threads", std::to_string(share));
  if (usable < std::min<double>(share, quota)) {
    out.add("cpu_binding", Severity::kWarning,
            fmt::format("peakline was bound to {} of {} CPUs: host figures are {} alone. Start it "
                        "unbound (mpirun --bind-to none, srun --cpu-bind=none, no taskset), unless "
                        "{} all that its job was given.",
                        usable, share, usable == 1 ? "that CPU's" : "those CPUs'",
                        usable == 1 ? "that is" : "those are"),
            evidence);
  }
  if (share < all) {
    out.add("cpuset", Severity::kInfo,
            fmt::format("The container or job has {} of the machine's {} CPUs (its cpuset): host "
                        "figures are those of its share.",
                        share, all),
            evidence);
  }
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
  if (!profile.asked.verify) {
    out.add("unverified", Severity::kWarning,
            "Results were not verified (--no-verify): wrong ones would go unnoticed.",
            {{"option", "--no-verify"}});
  }
  virtualized(profile.host, out);
  assumed_spreads(profile, out);
  cpu_quota(profile.host, out);
  withheld_cpus(profile.host, out);
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

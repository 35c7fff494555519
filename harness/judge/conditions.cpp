#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "harness/judge/sides.hpp"
#include "harness/values/cards.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline {

namespace {

// For all GPUs: "18 + 17 of 36" if one is down.
std::string nvlinks_of(const Profile& profile) {
  std::vector<int> up;
  int all = 0, slow = 0;
  for (const DeviceFacts& gpu : profile.devices) {
    up.push_back(gpu.nvlinks.up());
    all += gpu.nvlinks.count;
    slow += static_cast<int>(gpu.nvlinks.slow.size());
  }
  if (all == 0) return "";
  return fmt::format("{} of {}{}", fmt::join(up, " + "), all,
                     slow > 0 ? fmt::format(", {} slow", slow) : "");
}

// "0 0 1 1"; "" if the node of one is unknown.
std::string numa_nodes_of(const Profile& profile) {
  std::vector<int> nodes;
  for (const DeviceFacts& gpu : profile.devices) {
    if (!gpu.numa_node) return "";
    nodes.push_back(*gpu.numa_node);
  }
  return fmt::format("{}", fmt::join(nodes, " "));
}

std::string nccl_of(const DeviceView& run) {
  for (const MeasuredPoint& point : *run.points)
    if (const auto version = text_param(point.what->launch, "nccl")) return *version;
  return "";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> conditions_of(const DeviceView& run) {
  const Profile& p = *run.profile;
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](std::string what, std::string value) {
    facts.emplace_back(std::move(what), std::move(value));
  };
  const auto known = [](const std::optional<double>& value, std::string_view unit) {
    return value ? format_value(*value, unit) : std::string();
  };
  add("mode", p.mode);
  if (const DeviceFacts* d = run.facts) {
    add("driver", p.software.driver);
    add("CUDA", p.software.cuda_runtime);
    add("cuBLASLt", p.software.cublaslt);
    add("power limit", known(d->power_limit_w, "W"));
    add("maximum SM clock", known(d->sm_clock_max_hz, "Hz"));
    add("maximum memory clock", known(d->memory_clock_max_hz, "Hz"));
    add("PCIe link", d->pcie_read_under_load && d->pcie.generation && d->pcie.width
                         ? fmt::format("{}.0 x{}", *d->pcie.generation, *d->pcie.width)
                         : std::string());
    add("PCIe payload",
        d->pcie.max_payload_bytes ? fmt::format("{} B", *d->pcie.max_payload_bytes) : "");
    add("ECC", d->ecc_enabled ? (*d->ecc_enabled ? "on" : "off") : "");
    add("MIG", d->mig_enabled ? (*d->mig_enabled ? "on" : "off") : "");
    add("VBIOS", d->vbios);
    add("other processes", d->processes.empty() ? "no" : "yes");
  } else if (run.is_node()) {
    add("driver", p.software.driver);
    add("NVLinks", nvlinks_of(p));
    add("NCCL", nccl_of(run));
    add("GPUs' NUMA nodes", numa_nodes_of(p));
  } else {
    add("memory", known(p.host.memory_bytes, "B"));
    add("NUMA nodes", p.host.numa_nodes.empty() ? "" : std::to_string(p.host.numa_nodes.size()));
    add("usable threads", p.host.usable_threads ? std::to_string(*p.host.usable_threads) : "");
    add("vector extension", p.host.vector_extension);
    add("kernel", p.host.kernel);
    add("compiler", p.software.cxx_compiler);
  }
  add("CPU governor", p.host.cpu_governor);
  add("virtualization", p.host.virtualization.empty() ? "none" : p.host.virtualization);
  std::vector<std::string> environment;
  for (const auto& [name, value] : p.software.environment) {
    environment.push_back(fmt::format("{}={}", name, value));
  }
  add("environment", environment.empty() ? "none" : fmt::format("{}", fmt::join(environment, " ")));
  add("peakline", fmt::format("{} {}", p.tool, p.software.git_revision));
  add("build", p.software.build_type);
  return facts;
}

void compare_conditions(const DevicePair& pair, DeviceComparison& out) {
  std::vector<std::string> order;
  std::map<std::string, std::array<std::set<std::string>, 2>> values;
  const auto collect = [&](const Runs& runs, std::size_t side) {
    for (const DeviceView& run : runs) {
      for (auto& [what, value] : conditions_of(run)) {
        const auto [found, added] = values.try_emplace(what);
        if (added) order.push_back(what);
        if (!value.empty()) found->second[side].insert(std::move(value));
      }
    }
  };
  // Not in conditions_of(), as it explains nothing between the devices of a fleet.
  const auto add_cards = [&](const Runs& runs, std::size_t side) {
    for (const DeviceView& run : runs)
      if (run.facts != nullptr) values["card"][side].insert(short_uuid(run.facts->uuid));
  };
  order.emplace_back("card");
  add_cards(pair.base, 0);
  add_cards(pair.next, 1);
  collect(pair.base, 0);
  collect(pair.next, 1);
  for (std::string& what : order) {
    const auto& [base, next] = values[what];
    // Facts missing on one side are not compared.
    if (base.empty() || next.empty() || base == next) continue;
    out.differences.push_back({std::move(what), shortened({base.begin(), base.end()}),
                               shortened({next.begin(), next.end()})});
  }
}

}  // namespace peakline

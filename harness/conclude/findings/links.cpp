// Findings on links between GPUs that are down or slow, and on refused peer access.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "harness/conclude/findings/subjects.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/measurement.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Pairs repeat to within 0.2 %, and a node's pairs lie within 1 %.
constexpr double kSlowPair = 0.97;

void links_down(const DeviceView& gpu, Collector& out) {
  const NvLinks& links = gpu.facts->nvlinks;
  int most = links.up();
  for (const DeviceFacts& peer : gpu.profile->devices)
    if (peer.name == gpu.facts->name) most = std::max(most, peer.nvlinks.up());
  // A card without connected links is fine.
  if (links.down.empty() || most == 0) return;
  const Evidence evidence = {{"links", std::to_string(links.count)},
                             {"down", fmt::format("{}", fmt::join(links.down, ", "))}};
  if (links.up() < most) {
    out.add("nvlink_down", Severity::kWarning,
            fmt::format("{} of {} NVLinks are up, where a GPU of the same model has {}: copies "
                        "between GPUs are slower. Check nvidia-smi nvlink --status, the fabric "
                        "manager and the baseboard.",
                        links.up(), links.count, most),
            evidence);
  } else {
    out.add(
        "nvlink_down", Severity::kInfo,
        fmt::format("{} of {} NVLinks are up. That is a fault unless the machine has no more of "
                    "them wired.",
                    links.up(), links.count),
        evidence);
  }
}

void links_slow(const DeviceFacts& gpu, Collector& out) {
  const NvLinks& links = gpu.nvlinks;
  if (links.slow.empty()) return;
  out.add("nvlink_slow", Severity::kWarning,
          fmt::format("{} slower than the other NVLinks of the GPU, which run at {}.",
                      links.slow.size() == 1
                          ? fmt::format("NVLink {} is", links.slow.front())
                          : fmt::format("NVLinks {} are", fmt::join(links.slow, ", ")),
                      format_rate(*links.bytes_per_s, "B/s")),
          {{"slow", fmt::format("{}", fmt::join(links.slow, ", "))}});
}

void access_refused(const DeviceFacts& gpu, Collector& out) {
  Evidence evidence;
  std::vector<std::string> names;
  for (const PeerFacts& peer : gpu.peers) {
    if (peer.refused.empty()) continue;
    names.push_back(fmt::format("GPU {}", peer.index));
    evidence.emplace_back(names.back(), peer.refused);
  }
  if (names.empty()) return;
  out.add("peer_access_refused", Severity::kInfo,
          fmt::format("The GPU cannot use the memory of {}: {}. Copies between them go through the "
                      "host.",
                      shortened(names), evidence.front().second),
          evidence);
}

}  // namespace

void link_findings(const DeviceView& gpu, Collector& out) {
  links_down(gpu, out);
  links_slow(*gpu.facts, out);
  access_refused(*gpu.facts, out);
}

void node_findings(const DeviceView& node, Collector& out) {
  // By measurement and number of links, from the theoretical rate.
  std::map<std::pair<std::string_view, double>, std::vector<const Ceiling*>> alike;
  for (const Ceiling* row : node.ceilings) {
    const Measurement* source = node.source(*row);
    if (source == nullptr || !second_gpu(source->params)) continue;
    const Ceiling* theory = node.ceiling(row->resource, Basis::kTheoretical);
    const auto [group, added] =
        alike.try_emplace({source->id, theory == nullptr ? 0 : theory->value});
    if (std::ranges::find(group->second, row->measurement, &Ceiling::measurement) ==
        group->second.end())
      group->second.push_back(row);
  }
  std::vector<std::string> names;
  Evidence evidence;
  for (const auto& [key, rows] : alike) {
    std::vector<double> values;
    for (const Ceiling* row : rows) values.push_back(row->value);
    const double usual = median(values);
    for (const Ceiling* row : rows) {
      if (row->value >= kSlowPair * usual) continue;
      names.push_back(row->measurement);
      evidence.emplace_back(row->measurement,
                            fmt::format("{}, other pairs {}", format_rate(row->value, row->unit),
                                        format_rate(usual, row->unit)));
    }
  }
  if (names.empty()) return;
  out.add("slow_pair", Severity::kWarning,
          fmt::format("Slower than other pairs of GPUs with as many links: {}.", shortened(names)),
          std::move(evidence));
}

}  // namespace peakline

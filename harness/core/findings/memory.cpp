// What the memory system does that its size and bandwidth do not say.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/core/concurrency.hpp"
#include "harness/core/findings/subjects.hpp"
#include "harness/core/units.hpp"

namespace peakline {
namespace {

std::optional<double> figure(const DeviceView& gpu, std::string_view topic, std::string_view name) {
  for (const Curve& curve : gpu.profile->curves) {
    if (curve.device != gpu.name() || curve.topic != topic) continue;
    for (const auto& [key, value] : curve.values)
      if (key == name) return value;
  }
  return std::nullopt;
}

// Within its reach the TLB costs nothing to speak of; beyond, each access may wait for a walk
// through the page tables.
void tlb_reach(const DeviceView& gpu, Collector& out) {
  const auto reach = figure(gpu, kRandomAccess, "gather_reach_bytes");
  const auto rate = figure(gpu, kRandomAccess, "gather_bytes_per_s");
  const auto beyond = figure(gpu, kRandomAccess, "gather_beyond_bytes_per_s");
  const auto& memory = gpu.facts->memory_bytes;
  if (!reach || !rate || !beyond || !memory || *reach >= *memory) return;
  out.add("tlb_reach", Severity::kInfo,
          fmt::format("Random access is fast over {} of the {} of memory; over more, it falls to "
                      "{} of the rate, as the TLB no longer covers the addresses.",
                      format_size(*reach), format_size(*memory), format_percent(*beyond / *rate)),
          {{"reach", format_size(*reach)},
           {"rate", format_rate(*rate, "B/s")},
           {"rate_beyond", format_rate(*beyond, "B/s")}});
}

}  // namespace

void memory_findings(const DeviceView& gpu, Collector& out) { tlb_reach(gpu, out); }

}  // namespace peakline

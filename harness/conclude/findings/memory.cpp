#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/conclude/findings/subjects.hpp"
#include "harness/conclude/memory_map.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

std::optional<double> of_l2(const DeviceView& gpu, const char* role) {
  return gpu.figure({.role = role, .by = {{"level", "l2"}}});
}

// TLB hits cost almost nothing; beyond the reach, accesses may wait for page table walks.
void tlb_reach(const DeviceView& gpu, Collector& out) {
  const auto reach = gpu.figure({.role = role::kReach});
  const auto rate = gpu.figure({.role = role::kReachRate});
  const auto beyond = gpu.figure({.role = role::kBeyondRate});
  const auto largest = gpu.figure({.role = role::kBeyond});
  const auto& memory = gpu.facts->memory_bytes;
  if (!reach || !rate || !beyond || !largest || !memory || *reach >= *memory) return;
  out.add("tlb_reach", Severity::kInfo,
          fmt::format("Random access is fast up to {} of {}; over {} the TLB no longer covers it, "
                      "and it falls to {} of its rate within {}.",
                      format_size(*reach), format_size(*memory), format_size(*largest),
                      format_percent(*beyond / *rate), format_size(*reach)),
          {{"reach", format_size(*reach)},
           {"rate", format_rate(*rate, "B/s")},
           {"rate_beyond", format_rate(*beyond, "B/s")}});
}

// Loads of lines in the other L2 partition cross the chip and back.
void far_part(const DeviceView& gpu, Collector& out) {
  const auto far = far_part_of_l2(gpu);
  const auto full_rate_bytes = of_l2(gpu, role::kFullRate);
  if (!far && !full_rate_bytes) return;
  std::vector<std::string> parts;
  Evidence evidence;
  if (far) {
    parts.push_back(fmt::format(
        "a load takes {} from the part near to its SM, which holds {}, and "
        "{} from the other",
        format_time(far->near_s), format_size(far->near_bytes), format_time(far->far_s)));
    evidence = {{"near", format_time(far->near_s)},
                {"far", format_time(far->far_s)},
                {"near_part", format_size(far->near_bytes)}};
  }
  if (full_rate_bytes) {
    parts.push_back(
        fmt::format("reads reach its full rate up to {} only", format_size(*full_rate_bytes)));
    evidence.emplace_back("full_rate_up_to", format_size(*full_rate_bytes));
  }
  out.add("l2_far_part", Severity::kInfo,
          fmt::format("The L2 has a near and a far part: {}.", fmt::join(parts, "; ")), evidence);
}

// Random replacement keeps an L2 from holding a footprint of its own size, and a sweep locates its
// end to a quarter of an octave.
constexpr double kStep = 1.25, kMostlyHeld = 0.9;

void small_l2(const DeviceView& gpu, Collector& out) {
  const auto by_latency = of_l2(gpu, role::kHeldByLatency);
  const auto by_rate = of_l2(gpu, role::kHeldByRate);
  const auto& stated = gpu.facts->l2_bytes;
  // A single sweep may have missed a part.
  if (!by_latency || !by_rate || !stated) return;
  const double held = std::max(*by_latency, *by_rate);
  if (kStep * held >= kMostlyHeld * *stated) return;
  out.add("l2_small", Severity::kWarning,
          fmt::format("The L2 holds {} of the {} that the device states, by latency and by "
                      "bandwidth.",
                      format_size(held), format_size(*stated)),
          {{"stated", format_size(*stated)},
           {"held_by_latency", format_size(*by_latency)},
           {"held_by_bandwidth", format_size(*by_rate)}});
}

}  // namespace

void memory_findings(const DeviceView& gpu, Collector& out) {
  tlb_reach(gpu, out);
  far_part(gpu, out);
  small_l2(gpu, out);
}

}  // namespace peakline

#include "harness/hardware/usual_spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/values/resources.hpp"

namespace peakline {
namespace {

// Standard deviations as measured on twelve NVIDIA H200s in virtual machines, of each class the
// largest, rounded up (bench/studies.md). Products, whose rate depends on a card's temperature and
// power cap, have more than was seen, for the sake of cards that vary more: as much as leaves
// losses of 3 and 5 % to be found by one run a side (judgement_test.cpp).
constexpr UsualSpread kMemory = {.run_to_run = 0.001, .usual_half_width = 0.003};
constexpr UsualSpread kL2 = {.run_to_run = 0.0015, .usual_half_width = 0.003};
constexpr UsualSpread kSm = {.run_to_run = 0.003, .usual_half_width = 0.005};
// Assumed: no PCIe without a hypervisor was measured, and NVLink once.
constexpr UsualSpread kLink = {.run_to_run = 0.002, .usual_half_width = 0.003};
// This rests on three runs alone. One run in two has another state of small operations.
constexpr UsualSpread kCollectives = {.run_to_run = 0.01, .usual_half_width = 0.02};
constexpr UsualSpread kCollectiveCurve = {.run_to_run = 0.03, .usual_half_width = 0.05};
constexpr UsualSpread kCudaCores = {.run_to_run = 0.002, .usual_half_width = 0.005};
constexpr UsualSpread kInstruction = {.run_to_run = 0.0025, .usual_half_width = 0.012};
constexpr UsualSpread kBurst = {
    .run_to_run = 0.0034, .usual_half_width = 0.007, .between_modes = 0.015};
constexpr UsualSpread kSustained = {.run_to_run = 0.0055, .usual_half_width = 0.02};
constexpr UsualSpread kModelShaped = {.run_to_run = 0.005, .usual_half_width = 0.05};
// Assumed: no host without a hypervisor was measured.
constexpr UsualSpread kBareHost = {.run_to_run = 0.006, .usual_half_width = 0.02};
constexpr UsualSpread kSharedHost = {.run_to_run = 0.35, .usual_half_width = 0.4};
// In a virtual machine, other guests take from the memory that copies read, for seconds or minutes,
// and most of all from copies both ways at once, which need as much as the CPUs can read.
constexpr UsualSpread kSharedLink = {.run_to_run = 0.003, .usual_half_width = 0.003};
constexpr UsualSpread kSharedBothWays = {.run_to_run = 0.043, .usual_half_width = 0.03};

// Points of curves have fewer samples than ceilings, and those of matrix products a search of their
// own. What the CPU has a part in varies more, and most of all what it does itself in a virtual
// machine: copies of pageable memory, allocations, calls and waiting for the device.
constexpr UsualSpread kCurve = {.run_to_run = 0.008, .usual_half_width = 0.05};
constexpr UsualSpread kSearchedCurve = {.run_to_run = 0.025, .usual_half_width = 0.05};
constexpr UsualSpread kHostBoundCurve = {.run_to_run = 0.06, .usual_half_width = 0.05};
constexpr UsualSpread kSharedHostCurve = {.run_to_run = 0.3, .usual_half_width = 0.4};

constexpr std::array<std::string_view, 3> kLinks = {"pcie", "nvlink", "c2c"};
constexpr std::string_view kBothWays = "pcie.bidirectional", kCollective = "nccl";
// What comes from storage is as steady as that.
constexpr std::string_view kInput = "input";

}  // namespace

Site site_of(std::string_view device, const HostFacts& host) {
  return {.is_host = device == kHostDevice, .virtual_machine = in_virtual_machine(host)};
}

const UsualSpread& usual_spread(std::string_view resource, Basis basis, Site site) {
  const std::string_view unit = part_of(resource);
  if (site.is_host || unit == kInput) return site.virtual_machine ? kSharedHost : kBareHost;
  switch (basis) {
    case Basis::kInstruction:
      return kInstruction;
    case Basis::kBurst:
    case Basis::kModelBurst:
      return unit == "cuda_core" ? kCudaCores : kBurst;
    case Basis::kSustained:
      return unit == "cuda_core" ? kCudaCores : kSustained;
    case Basis::kModelShaped:
      return kModelShaped;
    case Basis::kMeasured:
    case Basis::kTheoretical:
    case Basis::kDatasheet:
      break;
  }
  if (unit == "l1" || unit == "shared") return kSm;
  if (unit == "l2") return kL2;
  if (unit == kCollective) return kCollectives;
  if (std::ranges::find(kLinks, unit) == kLinks.end()) return kMemory;
  if (!site.virtual_machine || unit != "pcie") return kLink;
  return resource == kBothWays ? kSharedBothWays : kSharedLink;
}

double own_scatter(const RunSpread& spread) {
  return std::hypot(spread.within, spread.sittings.value_or(0));
}

double most_own_scatter(const Ceiling& row) {
  const bool assumed = row.spread && !row.spread->assumed_from.empty();
  return assumed ? kWiderWhereAssumed * kMostOwnScatter : kMostOwnScatter;
}

std::optional<double> excessive_scatter(const Ceiling& row) {
  const bool unlimited = row.device == kHostDevice || row.resource == kBothWays ||
                         part_of(row.resource) == kCollective || part_of(row.resource) == kInput;
  if (!row.spread || unlimited) return std::nullopt;
  const double own = std::max(own_scatter(*row.spread), row.spread->step.value_or(0));
  return own > most_own_scatter(row) ? std::optional(own) : std::nullopt;
}

const UsualSpread& usual_curve_spread(VariesWith varies, bool virtual_machine) {
  switch (varies) {
    case VariesWith::kDevice:
      return kCurve;
    case VariesWith::kSearch:
      return kSearchedCurve;
    case VariesWith::kCollectives:
      return kCollectiveCurve;
    case VariesWith::kLaunches:
      return kHostBoundCurve;
    case VariesWith::kCpu:
      return virtual_machine ? kSharedHostCurve : kHostBoundCurve;
  }
  throw std::logic_error("no such dependence");
}

}  // namespace peakline

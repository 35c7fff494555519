#include "harness/hardware/usual_spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/values/resources.hpp"

namespace peakline {
namespace {

// Standard deviations of runs and cards: the largest of each class on eighteen H200s and seven
// H100s in virtual machines, rounded up (bench/studies.md). GEMMs, which depend on temperature and
// power cap, get more, as far as one run a side still finds losses of 3 and 5 %
// (two_sides_test.cpp). Highest scatter within a run, of 9,000 figures: 0.10 % (memory), 0.15 (L2),
// 0.59 (L1), 0.77 (CUDA cores), 0.67 (burst), 1.0 (instructions, collectives), 0.33 (sustained),
// 0.53 (NVLink), 3.1 (PCIe one way), 6.3 (both ways); steps up to 0.58 %, of PCIe 4.3 %. Beside
// each class: largest difference between H200 and H100; our lowest healthy share of theory;
// published shares.
constexpr UsualSpread kMemory = {.run_to_run = 0.001,  // 2.2 %; 0.89; T4 writes 0.67
                                 .usual_half_width = 0.003,
                                 .most_scatter = 0.005,
                                 .unsteady_from = 0.01,
                                 .between_cards = 0.001,
                                 .prior_margin = 0.04,
                                 .floor = 0.65};
constexpr UsualSpread kL2 = {.run_to_run = 0.0015,  // 0.8 % by bits of the memory bus
                             .usual_half_width = 0.003,
                             .most_scatter = 0.006,
                             .unsteady_from = 0.012,
                             .between_cards = 0.006,  // three of 17 H100s read 3 % less
                             .prior_margin = 0.06};
constexpr UsualSpread kSm = {.run_to_run = 0.003,  // 0.4 %; 0.99
                             .usual_half_width = 0.005,
                             .most_scatter = 0.01,
                             .unsteady_from = 0.02,
                             .between_cards = 0.002,
                             .prior_margin = 0.02,
                             .floor = 0.80};
// Assumed: PCIe was not measured without a hypervisor.
constexpr UsualSpread kLink = {.run_to_run = 0.002,  // 0.8 %; 0.87; pinned copies 0.61 at Gen 3
                               .usual_half_width = 0.003,
                               .most_scatter = 0.01,
                               .unsteady_from = 0.06,
                               .between_cards = 0.0008,
                               .prior_margin = 0.03,
                               .floor = 0.60};
constexpr UsualSpread kNvlink = {.run_to_run = 0.002,  // 0.5 %; 0.86; P2P copies 0.82
                                 .usual_half_width = 0.003,
                                 .most_scatter = 0.01,
                                 .unsteady_from = 0.02,
                                 .between_cards = 0.001,
                                 .prior_margin = 0.03,
                                 .floor = 0.70};
// From three pairs of GPUs. Small operations have two states, each in about half of the runs.
constexpr UsualSpread kCollectives = {.run_to_run = 0.01,  // 5.4 %; 0.57; bridged pairs 0.39
                                      .usual_half_width = 0.02,
                                      .most_scatter = 0.02,
                                      .between_cards = 0.015,
                                      .prior_margin = 0.10,
                                      .floor = 0.38};
constexpr UsualSpread kCollectiveCurve = {.run_to_run = 0.03, .usual_half_width = 0.05};
constexpr UsualSpread kCudaCores = {.run_to_run = 0.002,  // 0.4 %; 0.98
                                    .usual_half_width = 0.005,
                                    .most_scatter = 0.01,
                                    .unsteady_from = 0.02,
                                    .between_cards = 0.0012,
                                    .prior_margin = 0.02,
                                    .floor = 0.75};
constexpr UsualSpread kInstruction = {.run_to_run = 0.0025,  // 1.3 %; 0.82
                                      .usual_half_width = 0.012,
                                      .most_scatter = 0.02,
                                      .unsteady_from = 0.03,
                                      .between_cards = 0.013,
                                      .prior_margin = 0.04,
                                      .floor = 0.60};
constexpr UsualSpread kBurst = {.run_to_run = 0.0034,  // 1.4 %; 0.76
                                .usual_half_width = 0.007,
                                .most_scatter = 0.012,
                                .unsteady_from = 0.02,
                                .between_modes = 0.015,
                                .between_cards = 0.011,
                                .prior_margin = 0.04,
                                .floor = 0.50};
constexpr UsualSpread kSustained = {.run_to_run = 0.0055,  // 2.4 %; 0.64
                                    .usual_half_width = 0.02,
                                    .most_scatter = 0.015,
                                    .unsteady_from = 0.02,
                                    .between_cards = 0.011,
                                    .prior_margin = 0.06,
                                    .floor = 0.40};
constexpr UsualSpread kModelShaped = {.run_to_run = 0.005,  // 3.0 %; 0.57
                                      .usual_half_width = 0.05,
                                      .most_scatter = 0.015,
                                      .unsteady_from = 0.02,
                                      .between_cards = 0.0125,
                                      .prior_margin = 0.06,
                                      .floor = 0.40};
constexpr UsualSpread kBesideSiblings = {
    .run_to_run = 0.003, .usual_half_width = 0.02, .between_cards = 0.005, .prior_margin = 0.04};
// Assumed: no host was measured without a hypervisor.
constexpr UsualSpread kBareHost = {
    .run_to_run = 0.006, .usual_half_width = 0.02, .most_scatter = 0.03, .between_cards = 0.02};
constexpr UsualSpread kSharedHost = {
    .run_to_run = 0.35, .usual_half_width = 0.4, .most_scatter = 0.4};
// Other guests use the memory that copies read, for seconds or minutes. Copies in both directions
// or by several GPUs suffer most, as they need all the bandwidth that the CPUs have.
constexpr UsualSpread kSharedLink = {.run_to_run = 0.003,
                                     .usual_half_width = 0.003,
                                     .most_scatter = 0.02,
                                     .unsteady_from = 0.06,
                                     .between_cards = 0.0008,
                                     .prior_margin = 0.03,
                                     .floor = 0.60};
constexpr UsualSpread kSharedBothWays = {.run_to_run = 0.043,  // 10.6 %; 0.72
                                         .usual_half_width = 0.03,
                                         .most_scatter = 0.04,
                                         .between_cards = 0.015,
                                         .prior_margin = 0.20,
                                         .floor = 0.50};

// Points of curves have fewer samples than ceilings; GEMMs also a search of their own. Figures vary
// more if the CPU takes part, most if it does the work in a virtual machine: pageable copies,
// allocations, calls, waiting for the device.
constexpr UsualSpread kCurve = {.run_to_run = 0.008, .usual_half_width = 0.05};
constexpr UsualSpread kSearchedCurve = {.run_to_run = 0.025, .usual_half_width = 0.05};
constexpr UsualSpread kHostBoundCurve = {.run_to_run = 0.06, .usual_half_width = 0.05};
constexpr UsualSpread kSharedHostCurve = {.run_to_run = 0.3, .usual_half_width = 0.4};

constexpr std::array<std::string_view, 4> kLinks = {"pcie", "nvlink", "p2p", "c2c"};
constexpr std::string_view kCollective = "nccl";
// Assumed to be as steady as links.
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
  if (unit == "nvlink" || unit == "p2p") return kNvlink;
  if (!site.virtual_machine || unit != "pcie") return kLink;
  const bool one_way = resource == "pcie.h2d" || resource == "pcie.d2h";
  return one_way ? kSharedLink : kSharedBothWays;
}

const UsualSpread& usual_spread_beside_siblings() { return kBesideSiblings; }

double widened(const DeviceView& device) {
  const std::vector<DeviceFacts>& gpus = device.profile->devices;
  const DeviceFacts* gpu = device.is_node() && !gpus.empty() ? &gpus[0] : device.facts;
  return gpu == nullptr || studied(gpu->name) ? 1 : kWiderWhereAssumed;
}

OwnScatter own_scatter(const DeviceView& device, const Ceiling& row) {
  if (!row.spread) return {};
  const UsualSpread& usual =
      usual_spread(row.resource, row.basis, site_of(row.device, device.profile->host));
  const double factor = widened(device);
  OwnScatter own{.seen = std::hypot(row.spread->within, row.spread->sittings.value_or(0)),
                 .unsteady_from = factor * usual.unsteady_from};
  own.believed = std::min(own.seen, factor * usual.most_scatter);
  const double worst = std::max(own.seen, row.spread->step.value_or(0));
  if (own.unsteady_from > 0 && worst > own.unsteady_from) own.excessive = worst;
  return own;
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

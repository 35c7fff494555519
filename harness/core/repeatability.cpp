#include "harness/core/repeatability.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/core/resources.hpp"

namespace peakline {
namespace {

// Measured on three NVIDIA H200s in virtual machines, driver 580.159, minutes apart, with nothing
// else on the cards: at 62cb665 8 full and 9 quick runs of one and 16 quick runs of another, at
// 97007b2 8 full and 16 quick runs of the third. Each figure is the largest of the class (standard
// deviations of 0.08, 0.12 and 0.22 % for memory, CUDA cores and instruction), rounded up.
// Products, whose rate depends on a card's temperature and power cap, have more than was seen
// (0.22, 0.32, 0.39 %), for the sake of cards that vary more: as much as leaves losses of 3 and 5 %
// to be found by one run a side (judgement_test.cpp). Of nine more cards, fde91e4, d6252af,
// 495b5fa, cba7cd7, 7952848, e0c1bdc, 9013842, 1259523 and 09a861e, 69 full and 137 quick runs,
// most were inside. Not FP8, FP64 and FP16 under sustained load (0.69, 0.57 and 0.57 % of one
// each), BF16 from rest (0.37 % of one), model-shaped INT8 before its algorithms were the same in
// every run (0.53, 0.60 %), model-shaped FP8 (0.51 %), the INT8 instruction by six trains (0.28 %),
// quick copies in device memory while their search was cut short (0.14 %), and FP64 and FP32 CUDA
// cores by the median of their trains (0.23, 0.17 %; 0.17, 0.12 % without the scatter of few
// samples), for which CUDA cores have more since. Quick products lay within 0.7 % of full ones. A
// host without a hypervisor was not measured; its figure is assumed.
constexpr Repeatability kMemory = {.run_to_run = 0.001, .usual_half_width = 0.003};
// Reads 0.02 % at most; writes 0.01 to 0.15 % (cards six to nine), where searches took turns
// between three shapes.
constexpr Repeatability kL2 = {.run_to_run = 0.0015, .usual_half_width = 0.003};
// The third card: 0.26 % for L1 and shared memory, the seventh 0.31 % for reads of the latter.
constexpr Repeatability kSm = {.run_to_run = 0.003, .usual_half_width = 0.005};
// PCIe without a hypervisor and NVLink: assumed, as for the host.
constexpr Repeatability kLink = {.run_to_run = 0.002, .usual_half_width = 0.003};
// NCCL over two H200s, three runs within a minute: all-reduce 330, 331 and 333 GB/s, four other
// operations within 0.3 %, reduce-scatter 257 and 265. Of small operations one run in two has
// another state, 5 to 7 % apart.
constexpr Repeatability kCollectives = {.run_to_run = 0.01, .usual_half_width = 0.02};
constexpr Repeatability kCollectiveCurve = {.run_to_run = 0.03, .usual_half_width = 0.05};
constexpr Repeatability kCudaCores = {.run_to_run = 0.002, .usual_half_width = 0.005};
constexpr Repeatability kInstruction = {.run_to_run = 0.0025, .usual_half_width = 0.012};
constexpr Repeatability kBurst = {
    .run_to_run = 0.0034, .usual_half_width = 0.007, .between_modes = 0.015};
constexpr Repeatability kSustained = {.run_to_run = 0.0055, .usual_half_width = 0.02};
constexpr Repeatability kModelShaped = {.run_to_run = 0.005, .usual_half_width = 0.05};
constexpr Repeatability kBareHost = {.run_to_run = 0.006, .usual_half_width = 0.02};
// Of the card at cba7cd7, 8 full and 16 quick runs: 0.07 to 0.32.
constexpr Repeatability kSharedHost = {.run_to_run = 0.35, .usual_half_width = 0.4};
// Copies that read the host's memory were slower for seconds or minutes, both ways at once most of
// all, which moves about as much as these hosts' CPUs read (103 GB/s): standard deviations of 0.35
// and, on the fifth host, 4.3 %. Other guests are the likely cause.
constexpr Repeatability kSharedLink = {.run_to_run = 0.003, .usual_half_width = 0.003};
constexpr Repeatability kSharedBothWays = {.run_to_run = 0.043, .usual_half_width = 0.03};

// Curves, of the same runs, and of 5 full and 10 quick runs of another H200 in a virtual machine at
// f637881. Points have fewer samples than ceilings, and those of matrix products a search of their
// own. What the CPU has a part in varies more: the cost of launches and of copies (standard
// deviations of up to 4.8 %), and in a virtual machine most of all what it does itself: copies of
// pageable memory, allocations, calls and waiting for the device (7 to 48 %).
constexpr Repeatability kCurve = {.run_to_run = 0.008, .usual_half_width = 0.05};
constexpr Repeatability kSearchedCurve = {.run_to_run = 0.025, .usual_half_width = 0.05};
constexpr Repeatability kHostBoundCurve = {.run_to_run = 0.06, .usual_half_width = 0.05};
constexpr Repeatability kSharedHostCurve = {.run_to_run = 0.3, .usual_half_width = 0.4};

constexpr std::array<std::string_view, 3> kLinks = {"pcie", "nvlink", "c2c"};
constexpr std::string_view kBothWays = "pcie.bidirectional", kCollective = "nccl";

}  // namespace

Site site_of(std::string_view device, const HostFacts& host) {
  return {.is_host = device == kHostDevice, .virtual_machine = in_virtual_machine(host)};
}

const Repeatability& repeatability(std::string_view resource, Basis basis, Site site) {
  if (site.is_host) return site.virtual_machine ? kSharedHost : kBareHost;
  const std::string_view unit = part_of(resource);
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

std::optional<double> excessive_scatter(const Ceiling& row) {
  const bool unlimited = row.device == kHostDevice || row.resource == kBothWays ||
                         part_of(row.resource) == kCollective;
  if (!row.spread || unlimited) return std::nullopt;
  const double own = own_scatter(*row.spread);
  return own > kMostOwnScatter ? std::optional(own) : std::nullopt;
}

const Repeatability& curve_repeatability(VariesWith varies, bool virtual_machine) {
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

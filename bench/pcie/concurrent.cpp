// What is left of each GPU's host link when all of them are in use?

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

void copy_beside_other_gpus(CudaBench& bench, bool to_device, bool to_host);

namespace {

std::string concurrent_title(const TitleView& view) {
  const auto share = [&](const char* id) { return view.value({.id = id, .name = "least_share"}); };
  return fmt::format(
      "With all GPUs copying, a host link keeps {} of its rate one way, {} both ways",
      format_percent(std::min(share("pcie.concurrent.h2d"), share("pcie.concurrent.d2h"))),
      format_percent(share("pcie.concurrent.both")));
}

}  // namespace

void register_pcie_concurrent(Registry& registry, const std::vector<int>& gpus) {
  constexpr const char* kTopic = "host links at once";
  const auto add = [&](const char* id, const char* what, const char* work, const char* label,
                       bool to_device, bool to_host) {
    const bool both = to_device && to_host;
    std::vector<CurveRule> curves = {concurrent_curve(kTopic, label, Quantity::kByteRate)};
    if (both) curves.push_back(host_memory_curve(kTopic));
    registry.add(
        {.id = id,
         .what = what,
         .work = work,
         .quantity = Quantity::kByteRate,
         .loads = Loads::kLink,
         .estimate = Estimate::kFastestTenth,
         .varies_with = VariesWith::kLaunches,
         .limit = pcie_link(both ? 2 : 1),
         .curves = std::move(curves),
         .topics = both ? std::vector<Topic>{{kTopic, concurrent_title}} : std::vector<Topic>{},
         .points = concurrent_points(
             gpus, {.params = {}, .phase = Phase::kNode, .rule = Rule::kFull, .seconds = 0.25})},
        on_gpu([=](auto& bench) { copy_beside_other_gpus(bench, to_device, to_host); }));
  };
  constexpr const char* kOnce = "bytes over the link of one GPU";
  add("pcie.concurrent.h2d", "Copies from the host by each GPU alone and by all at once", kOnce,
      "to device", true, false);
  add("pcie.concurrent.d2h", "Copies to the host by each GPU alone and by all at once", kOnce,
      "to host", false, true);
  add("pcie.concurrent.both", "Copies both ways by each GPU alone and by all at once",
      "bytes over the link of one GPU in both directions, timed until both are done", "both ways",
      true, true);
}

}  // namespace peakline::bench

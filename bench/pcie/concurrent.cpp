// What is left of each GPU's host link when all are in use?

#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void copy_beside_other_gpus(CudaBench& bench, bool to_device, bool to_host);

namespace {

std::string concurrent_title(const TitleView& view) {
  const auto share = [&](const char* id) {
    return view.value({.id = id, .name = "least_share_of_alone"});
  };
  return fmt::format(
      "With all GPUs copying, a host link keeps {} of its rate one way, {} both ways",
      format_percent(std::min(share("pcie.concurrent.h2d"), share("pcie.concurrent.d2h"))),
      format_percent(share("pcie.concurrent.both")));
}

// The host's memory reads and copies, the other limit of copies between it and all GPUs.
void summarize_host_memory(const CurveView& curve, Figures& figures) {
  for (const auto& [name, resource] :
       {std::pair("host_memory_read", "memory.read"), {"host_memory_copy", "memory.copy"}})
    if (const Ceiling* row =
            find_ceiling(curve.profile->ceilings, kHostDevice, resource, Basis::kMeasured))
      figures.add(name, row->value);
}

}  // namespace

void register_pcie_concurrent(Registry& registry, const std::vector<int>& gpus) {
  constexpr const char* kTopic = "host links at once";
  const auto add = [&](bool to_device, bool to_host, Benchmark benchmark) {
    benchmark.quantity = Quantity::kByteRate;
    benchmark.loads = Loads::kLink;
    benchmark.estimate = Estimate::kFastestTenth;
    benchmark.varies_with = VariesWith::kLaunches;
    benchmark.limit = host_link(to_device && to_host ? 2 : 1);
    benchmark.points =
        concurrent_points(gpus, {.phase = Phase::kNode, .timing = Timing::kFull, .seconds = 0.25});
    registry.add(std::move(benchmark),
                 on_gpu([=](auto& bench) { copy_beside_other_gpus(bench, to_device, to_host); }));
  };
  const auto rates = [](const char* direction) {
    return concurrent_curve(kTopic, Quantity::kByteRate, [direction](const DeviceFacts& gpu) {
      return host_link_resource(gpu, direction);
    });
  };
  constexpr const char* kOnce = "bytes over the link of one GPU";
  add(true, false,
      {.id = "pcie.concurrent.h2d",
       .what = "Copies from the host by each GPU while all copy",
       .work = kOnce,
       .curves = {rates("h2d")}});
  add(false, true,
      {.id = "pcie.concurrent.d2h",
       .what = "Copies to the host by each GPU while all copy",
       .work = kOnce,
       .curves = {rates("d2h")}});
  add(true, true,
      {.id = "pcie.concurrent.both",
       .what = "Copies both ways by each GPU while all copy",
       .work = "bytes over the link of one GPU in both directions, timed until both are done",
       .curves = {rates("bidirectional"),
                  {kTopic,
                   {{"host_memory_read", "B/s"}, {"host_memory_copy", "B/s"}},
                   summarize_host_memory}},
       .topics = {{kTopic, concurrent_title}}});
}

}  // namespace peakline::bench

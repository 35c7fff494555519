// What is left of each GPU's host link when all are in use?

#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

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

// The host's memory reads and copies, the other limit of copies between it and all GPUs.
void summarize_host_memory(const CurveView& curve, Sentence& sentence) {
  const auto rate = [&](std::string_view resource) {
    const Ceiling* row =
        find_ceiling(curve.profile->ceilings, kHostDevice, resource, Basis::kMeasured);
    return row == nullptr ? std::string(kNotKnown) : format_rate(row->value, row->unit);
  };
  if (find_ceiling(curve.profile->ceilings, kHostDevice, "memory.read", Basis::kMeasured) ==
      nullptr)
    return;
  sentence.add(fmt::format("the host's CPUs read its memory at {} and copy at {}",
                           rate("memory.read"), rate("memory.copy")));
}

}  // namespace

void register_pcie_concurrent(Registry& registry, const std::vector<int>& gpus) {
  constexpr const char* kTopic = "host links at once";
  const auto add = [&](const char* id, const char* what, const char* work, bool to_device,
                       bool to_host, std::vector<CurveRule> curves,
                       std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .loads = Loads::kLink,
                  .estimate = Estimate::kFastestTenth,
                  .varies_with = VariesWith::kLaunches,
                  .limit = host_link(to_device && to_host ? 2 : 1),
                  .curves = std::move(curves),
                  .topics = std::move(topics),
                  .points = concurrent_points(
                      gpus, {.phase = Phase::kNode, .rule = Rule::kFull, .seconds = 0.25})},
                 on_gpu([=](auto& bench) { copy_beside_other_gpus(bench, to_device, to_host); }));
  };
  const auto rates = [](const char* label, const char* direction) {
    return concurrent_curve(
        kTopic, label, Quantity::kByteRate,
        [direction](const DeviceFacts& gpu) { return host_link_resource(gpu, direction); });
  };
  constexpr const char* kOnce = "bytes over the link of one GPU";
  add("pcie.concurrent.h2d", "Copies from the host by each GPU while all copy", kOnce, true, false,
      {rates("H2D", "h2d")});
  add("pcie.concurrent.d2h", "Copies to the host by each GPU while all copy", kOnce, false, true,
      {rates("D2H", "d2h")});
  add("pcie.concurrent.both", "Copies both ways by each GPU while all copy",
      "bytes over the link of one GPU in both directions, timed until both are done", true, true,
      {rates("both ways", "bidirectional"), {kTopic, {}, summarize_host_memory}},
      {{kTopic, concurrent_title}});
}

}  // namespace peakline::bench

// What do the links between GPUs carry when all GPUs send at once?

#include "bench/p2p/links.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void send_all_to_all(NodeBench& bench);
void send_across_bisection(NodeBench& bench);

namespace {

// The rate of all GPUs together, and of each.
CurveRule all_gpus() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const Measurement& m = *curve.points.back();
    const auto gpus = int_param(m.params, "gpus").value_or(0);
    if (gpus < 1) return;
    figures.add("rate", *m.value);
    figures.add("rate_of_each", *m.value / static_cast<double>(gpus));
  };
  return {kLinksTopic, {{"rate", "B/s"}, {"rate_of_each", "B/s"}}, summarize};
}

}  // namespace

void register_p2p_concurrent(Registry& registry, const std::vector<int>& gpus) {
  const auto add = [&](const char* id, const char* what, const char* resource_name, Run run) {
    registry.add({.id = id,
                  .what = what,
                  .work = "bytes that all GPUs send, timed until all have arrived",
                  .quantity = Quantity::kByteRate,
                  .loads = Loads::kLink,
                  .limit = peer_link(1),
                  .ceilings = {{.resource = resource(resource_name), .counts = over_nvlinks}},
                  .curves = {all_gpus()},
                  .points = {{.params = {{"gpus", std::ssize(gpus)}},
                              .phase = Phase::kNode,
                              .timing = Timing::kFull,
                              .seconds = 0.6,
                              .gpus = gpus}}},
                 std::move(run));
  };
  add("p2p.all_to_all", "Bandwidth of all GPUs sending to all others at once", "nvlink.all_to_all",
      on_node([](auto& bench) { send_all_to_all(bench); }));
  // For two GPUs, p2p.bidirectional is the bisection.
  if (gpus.size() >= 4 && gpus.size() % 2 == 0)
    add("p2p.bisection", "Bandwidth between two halves of the GPUs, both ways", "nvlink.bisection",
        on_node([](auto& bench) { send_across_bisection(bench); }));
}

}  // namespace peakline::bench

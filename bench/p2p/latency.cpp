// How long does a load from another GPU's memory take, and how soon does another GPU see a write?

#include "bench/node_curves.hpp"
#include "bench/p2p/links.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void latency_of_other_gpu(NodeBench& bench);
void visibility_to_other_gpu(NodeBench& bench);

void register_p2p_latency(Registry& registry, const std::vector<int>& gpus) {
  const auto add = [&](const char* id, const char* what, const char* work, Run run) {
    const Point each{.phase = Phase::kNode, .quick = true, .seconds = 0.03};
    std::vector<Point> points = pair_points(gpus, false, each);
    // One pair at a time: while a kernel waits for another GPU's, a call that waits for all GPUs
    // could keep that one from launching.
    for (Point& point : points) point.round = 0;
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .loads = Loads::kLink,
                  .curves = {pair_time_curve(kLinksTopic)},
                  .points = std::move(points)},
                 std::move(run));
  };
  add("p2p.latency", "Latency of another GPU's memory",
      "seconds of one load, each of which waits for the one before",
      on_node([](auto& bench) { latency_of_other_gpu(bench); }));
  add("p2p.visibility", "Time until another GPU sees a write to its memory",
      "half the seconds of a flag's way there and of its answer's back",
      on_node([](auto& bench) { visibility_to_other_gpu(bench); }));
}

}  // namespace peakline::bench

// How fast are the links between GPUs, by pair, size, direction, and who copies?

#include "bench/node_curves.hpp"
#include "bench/p2p/links.hpp"
#include "bench/pairs.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void copy_pair_one_way(NodeBench& bench, bool reads, CopiesBy by);
void copy_pair_both_ways(NodeBench& bench, CopiesBy by);

namespace {

constexpr std::int64_t kSmallest = 4 << 10, kLargest = 1 << 30;

Run one_way(bool reads, CopiesBy by) {
  return on_node([=](auto& bench) { copy_pair_one_way(bench, reads, by); });
}
Run both_ways(CopiesBy by) {
  return on_node([=](auto& bench) { copy_pair_both_ways(bench, by); });
}

// The first pair copies every size, all pairs the large one; pairs but the first are brief, so that
// many take little longer than two.
std::vector<Point> points(const std::vector<int>& gpus, bool directed, bool ceiling) {
  auto all = points_over(
      {{"pair", {pair_name({gpus[0], gpus[1]})}}, {"bytes", multiples(kSmallest, kLargest / 4, 4)}},
      {.phase = Phase::kNode, .seconds = 0.02, .gpus = {gpus[0], gpus[1]}});
  const Point large{
      .params = {{"bytes", kLargest}}, .phase = Phase::kNode, .quick = ceiling, .seconds = 0.08};
  for (Point& point : pair_points(gpus, directed, large)) {
    if (ceiling && std::max(point.gpus[0], point.gpus[1]) == std::max(gpus[0], gpus[1]) &&
        std::min(point.gpus[0], point.gpus[1]) == std::min(gpus[0], gpus[1])) {
      point.timing = Timing::kFull;
      point.round = 0;
      point.seconds = 0.35;
    }
    all.push_back(std::move(point));
  }
  return all;
}

// Each pair has a ceiling, and the node has that of its best pair, only where NVLinks connect them.
std::vector<CeilingRule> ceilings(const std::string& name, const std::vector<Point>& points) {
  const auto counts = [](const std::string& pair) {
    return [pair, large = at_least("bytes", kCeilingCopyBytes)](const Measurement& m,
                                                                const DeviceFacts* gpu) {
      return large(m, gpu) && (pair.empty() || text_param(m.params, "pair") == pair) &&
             over_nvlinks(m, gpu);
    };
  };
  std::vector<CeilingRule> rules = {{.resource = resource(name), .counts = counts("")}};
  for (const Point& point : points) {
    if (int_param(point.params, "bytes") != kLargest) continue;
    const std::string pair = *text_param(point.params, "pair");
    Resource of_pair = resource(name);
    of_pair.name += "." + pair;
    of_pair.label += " " + pair;
    rules.push_back({.resource = std::move(of_pair), .counts = counts(pair)});
  }
  return rules;
}

std::string links_title(const TitleView& view) {
  const FigureQuery slowest{.id = "p2p.read.ce", .name = "slowest_rate"};
  std::string share;  // of what the links carry; unknown for PCIe between switches
  for (const Ceiling& row : view.profile.ceilings)
    if (row.device == view.device && row.resource == "nvlink.read" &&
        row.basis == Basis::kTheoretical)
      share = fmt::format(" ({} of {})", format_percent(view.value(slowest) / row.value),
                          format_rate(row.value, "B/s"));
  return fmt::format("GPUs read from each other at {} or more{}; both ways at once they move {}",
                     view.text(slowest), share,
                     view.text({.id = "p2p.bidirectional.ce", .name = "rate"}));
}

}  // namespace

void register_p2p(Registry& registry, const std::vector<int>& gpus) {
  const auto add = [&](int directions, const char* ceiling, Benchmark benchmark, Run run) {
    benchmark.work = directions == 2 ? "bytes of both directions, timed until both are done"
                                     : "bytes over the link, counted once";
    benchmark.quantity = Quantity::kByteRate;
    benchmark.loads = Loads::kLink;
    benchmark.limit = peer_link(directions);
    benchmark.points = points(gpus, directions == 1, ceiling != nullptr);
    if (ceiling != nullptr) benchmark.ceilings = ceilings(ceiling, benchmark.points);
    benchmark.curves = {pair_rate_curve(kLinksTopic)};
    registry.add(std::move(benchmark), std::move(run));
  };
  add(1, "nvlink.read",
      {.id = "p2p.read.ce",
       .what = "Bandwidth of reads from another GPU by the copy engines, by size",
       .topics = {{kLinksTopic, links_title}}},
      one_way(true, CopiesBy::kEngine));
  add(1, "nvlink.write",
      {.id = "p2p.write.ce",
       .what = "Bandwidth of writes to another GPU by the copy engines, by size"},
      one_way(false, CopiesBy::kEngine));
  add(2, "nvlink.bidirectional",
      {.id = "p2p.bidirectional.ce",
       .what = "Bandwidth between two GPUs both ways by the copy engines, by size"},
      both_ways(CopiesBy::kEngine));
  add(1, nullptr,
      {.id = "p2p.read.sm", .what = "Bandwidth of reads from another GPU by a kernel, by size"},
      one_way(true, CopiesBy::kSm));
  add(1, nullptr,
      {.id = "p2p.write.sm", .what = "Bandwidth of writes to another GPU by a kernel, by size"},
      one_way(false, CopiesBy::kSm));
  add(2, nullptr,
      {.id = "p2p.bidirectional.sm",
       .what = "Bandwidth between two GPUs both ways by kernels, by size"},
      both_ways(CopiesBy::kSm));
}

}  // namespace peakline::bench

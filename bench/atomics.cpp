// What do atomic operations cost, by how many threads share an address?

#include "bench/atomics_table.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void atomics_in_global(CudaBench& bench);
void atomics_in_shared(CudaBench& bench);

namespace {

// A load/store unit takes one instruction of a warp per clock.
constexpr double kMostPerClock = 32;

constexpr const char* kTopic = "atomics";

std::string atomics_title(const TitleView& view) {
  const Figure& least = view.least(
      {.id = "atomics.global", .name = "one_address_share", .by = {{"scope", "device"}}});
  return fmt::format("With all threads on one address, {} is {} x slower than with one each",
                     spaced(*text_param(least.by, "op")), format_number(1 / least.value));
}

Picture atomics_picture() {
  const auto panel = [](const char* id, const char* label, Params where) -> Panel {
    return {.kind = PanelKind::kDots,
            .by = "addresses",
            .x = {.label = label, .per = 1e9, .scale = Scale::kLog10},
            .series = {{"{}", {.id = id, .where = std::move(where)}, "op"}},
            .names = {{"one", "1"},
                      {"per_lane", "32"},
                      {"per_warp", "1 per warp"},
                      {"per_thread", "1 per thread"}}};
  };
  return {
      .key = "atomics",
      .subject = "Atomic operations: what sharing an address costs",
      .how =
          "The threads share addresses: one for all of them (in shared memory, of a block), "
          "32, one for each lane, one for each warp, or one for each thread. Swaps count "
          "whether they succeed or not.",
      .panels = {panel("atomics.global", "10⁹ operations/s, global memory", {{"scope", "device"}}),
                 panel("atomics.shared", "10⁹ operations/s, shared memory", {})}};
}

// Scopes other than the device's are measured only at both ends of sharing.
std::vector<Point> points_of(std::span<const AtomicOp> ops) {
  std::vector<Point> points;
  for (const AtomicOp& op : ops)
    for (const std::string addresses : {"one", "per_lane", "per_warp", "per_thread"}) {
      const bool end = addresses == "one" || addresses == "per_thread";
      if (!op.scope.empty() && op.scope != "device" && !end) continue;
      Point point{.params = {{"op", std::string(op.name)}, {"addresses", addresses}},
                  .seconds = 0.05};
      if (!op.scope.empty()) point.params.emplace_back("scope", std::string(op.scope));
      points.push_back(std::move(point));
    }
  return points;
}

// Rates with one address per thread, shares of them with one for all, and the largest deviation
// from device scope, by scope.
CurveRule one_address() {
  const auto with = [](Params params, std::string_view param, const char* to) {
    for (auto& [name, value] : params)
      if (name == param) value = std::string(to);
    return params;
  };
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    std::map<std::string, double> apart;  // by scope
    for (const Measurement* m : curve.points) {
      const std::string scope = text_param(m->params, "scope").value_or("device");
      if (scope != "device")
        if (const Measurement* same = single(curve, with(m->params, "scope", "device")))
          apart[scope] = std::max(apart[scope], std::abs(*m->value / *same->value - 1));
      if (text_param(m->params, "addresses") != "per_thread") continue;
      const Measurement* one = single(curve, with(m->params, "addresses", "one"));
      const auto op = text_param(m->params, "op");
      if (one == nullptr || !op) continue;
      const Params by = {{"op", *op}, {"scope", scope}};
      figures.add("rate", *m->value, by);
      figures.add("one_address_share", *one->value / *m->value, by);
    }
    for (const auto& [scope, difference] : apart)
      figures.add("furthest_from_device", difference, {{"scope", scope}});
  };
  return {kTopic,
          {{"rate", "OP/s", {"op", "scope"}},
           {"one_address_share", unit::kShare, {"op", "scope"}},
           {"furthest_from_device", unit::kShare, {"scope"}}},
          summarize};
}

}  // namespace

void register_atomics(Registry& registry) {
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.work = "atomic operations, one a thread and trip, whether a swap succeeds or not";
    benchmark.quantity = Quantity::kOpRate;
    benchmark.limit = per_clock_per_sm(kMostPerClock);
    benchmark.curves = {one_address()};
    registry.add(std::move(benchmark), std::move(run));
  };
  add({.id = "atomics.global",
       .what = "Rate of atomic operations in global memory, by how many threads share an address",
       .topics = {{kTopic, atomics_title, atomics_picture()}},
       .points = points_of(kGlobalAtomics)},
      on_gpu([](auto& bench) { atomics_in_global(bench); }));
  add({.id = "atomics.shared",
       .what = "Rate of atomic operations in shared memory, by how many threads of a block share "
               "an address",
       .points = points_of(kSharedAtomics)},
      on_gpu([](auto& bench) { atomics_in_shared(bench); }));
}

}  // namespace peakline::bench

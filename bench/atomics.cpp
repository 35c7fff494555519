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
          "Each row is one operation, each mark a number of addresses: one for all threads (in "
          "shared memory, of a block), 32 of them, one for each lane, one for each warp and one "
          "for each thread. Swaps count whether they succeed or not.",
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

// "global memory with one address per thread: int32_add 3900 GOP/s, 126 GOP/s on one; ...", at
// device scope; other scopes by their largest deviation from it.
CurveRule one_address(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    std::map<std::string, double> apart;  // largest deviation from device scope, by scope
    for (const Measurement* m : curve.points) {
      if (const auto scope = text_param(m->params, "scope"); scope && *scope != "device") {
        Params at_device = m->params;
        for (auto& [name, value] : at_device)
          if (name == "scope") value = std::string("device");
        if (const Measurement* same = single(curve, at_device))
          apart[*scope] = std::max(apart[*scope], std::abs(*m->value / *same->value - 1));
      }
      if (text_param(m->params, "addresses") != "per_thread") continue;
      Params contended = m->params;
      for (auto& [name, value] : contended)
        if (name == "addresses") value = std::string("one");
      const Measurement* one = single(curve, contended);
      const auto op = text_param(m->params, "op");
      if (one == nullptr || !op) continue;
      const std::string scope = text_param(m->params, "scope").value_or("device");
      const bool device = scope == "device";
      const double share = *one->value / *m->value;
      if (device)
        parts.push_back(fmt::format("{} {}, {} on one", *op, format_value(*m->value, m->unit),
                                    format_value(*one->value, one->unit)));
      const Params by = {{"op", *op}, {"scope", scope}};
      sentence.figure("rate", *m->value, by);
      sentence.figure("one_address_share", share, by);
    }
    if (!parts.empty())
      sentence.add(
          fmt::format("{} with one address per thread: {}", label, fmt::join(parts, "; ")));
    std::vector<std::string> scopes;
    for (const auto& [scope, difference] : apart) {
      scopes.push_back(fmt::format("{} within {}", scope, format_percent(difference)));
      sentence.figure("furthest_from_device", difference, {{"scope", scope}});
    }
    sentence.add("against device scope:", scopes);
  };
  return {kTopic,
          {{"rate", "OP/s", {"op", "scope"}},
           {"one_address_share", "1", {"op", "scope"}},
           {"furthest_from_device", "1", {"scope"}}},
          summarize};
}

void add(Registry& registry, const std::string& space, const char* what, const char* label,
         std::span<const AtomicOp> ops, Run run, std::vector<Topic> topics = {}) {
  registry.add({.id = "atomics." + space,
                .what = what,
                .work = "atomic operations, one a thread and trip, whether a swap succeeds or not",
                .quantity = Quantity::kOpRate,
                .limit = per_clock_per_sm(kMostPerClock),
                .curves = {one_address(label)},
                .topics = std::move(topics),
                .points = points_of(ops)},
               std::move(run));
}

}  // namespace

void register_atomics(Registry& registry) {
  add(registry, "global",
      "Rate of atomic operations in global memory, by how many threads share an address",
      "global memory", kGlobalAtomics, on_gpu([](auto& bench) { atomics_in_global(bench); }),
      {{kTopic, atomics_title, atomics_picture()}});
  add(registry, "shared",
      "Rate of atomic operations in shared memory, by how many threads of a block share an address",
      "shared memory", kSharedAtomics, on_gpu([](auto& bench) { atomics_in_shared(bench); }));
}

}  // namespace peakline::bench

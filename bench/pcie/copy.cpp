// How fast does data move between host and device, by size, direction and host memory?

#include "bench/pcie/ways.hpp"
#include "bench/question.hpp"
#include "harness/conclude/factors.hpp"
#include "harness/host/topology.hpp"
#include "harness/values/profile.hpp"

namespace peakline::bench {

void copy_locked_memory(CudaBench& bench, pcie::Memory memory, pcie::Direction direction);
void copy_pageable_memory(CudaBench& bench, pcie::Direction direction);
void copy_locked_memory_both_ways(CudaBench& bench, pcie::Memory memory);
void copy_mapped_memory_both_ways(CudaBench& bench);
void copy_pageable_memory_both_ways(CudaBench& bench);
void copy_in_pieces(CudaBench& bench, std::size_t bytes);
void copy_at_numa_node(CudaBench& bench);

namespace {

using namespace pcie;

constexpr const char* kTopic = "PCIe copies";

// Sizes that reach these shares of the top rate.
constexpr const char* kSizeForShare = "size_for_share";
constexpr std::int64_t kPercents[] = {50, 90, 95};

// Sizes whose time and rate are told.
constexpr std::int64_t kToldBytes[] = {4 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20, kLargest};

constexpr std::size_t kSmallest = 4 << 10;
// Copies of at least this size count for the ceiling.
constexpr auto kCeilingBytes = static_cast<std::size_t>(kCeilingCopyBytes);
constexpr std::int64_t kPiecesBytes = 16 << 20;

Run locked(Memory memory, Direction direction) {
  return on_gpu([=](auto& bench) { copy_locked_memory(bench, memory, direction); });
}
Run locked_both_ways(Memory memory) {
  return on_gpu([=](auto& bench) { copy_locked_memory_both_ways(bench, memory); });
}
Run pageable(Direction direction) {
  return on_gpu([=](auto& bench) { copy_pageable_memory(bench, direction); });
}

// A machine with one node has a point as well, which is then skipped.
std::vector<Point> node_points() {
  std::vector<ParamValue> nodes;
  for (const NumaNodeFacts& node : host::Topology::usable().numa_nodes())
    nodes.emplace_back(std::int64_t{node.index});
  const Point copy{.phase = Phase::kLink, .seconds = 0.2};
  if (nodes.size() < 2) return points_over({{"node", {0}}, {"direction", {"h2d"}}}, copy);
  return points_over({{"node", std::move(nodes)}, {"direction", {"h2d", "d2h"}}}, copy);
}

std::vector<Point> size_points(bool pinned) {
  std::vector<Point> points;
  for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) {
    const bool ceiling = pinned && bytes >= kCeilingBytes;
    points.push_back({.params = {{"bytes", static_cast<std::int64_t>(bytes)}},
                      .phase = Phase::kLink,
                      .timing = ceiling ? Timing::kFull : Timing::kCurve,
                      .quick = bytes == kSmallest || (bytes == kCeilingBytes && pinned) ||
                               (bytes == kLinkWatchBytes && !pinned),
                      .seconds = ceiling             ? 0.5
                                 : bytes == kLargest ? 0.3
                                                     : 0.1});
  }
  return points;
}

// Other guests and users of the host's memory slow copies for minutes, and never speed them up.
constexpr Estimate kPinnedEstimate = Estimate::kFastestTenth;
constexpr int kPinnedMethod = 2;  // v1: the median

std::string pcie_title(const TitleView& view) {
  if (view.facts == nullptr) throw Missing();
  const auto rate = [&](const char* direction) {
    return format_rate(
        view.ceiling(host_link_resource(*view.facts, direction), Basis::kMeasured).value, "B/s");
  };
  std::vector<std::string> sizes;
  for (const std::int64_t percent : kPercents)
    if (const Figure* size = view.find(
            {.id = "pcie.h2d.pinned", .name = kSizeForShare, .by = {{"percent", percent}}}))
      sizes.push_back(fmt::format("{} %{} from {}", percent,
                                  sizes.empty() ? " of their top rate" : "",
                                  format_size(size->value)));
  const Figure* pays = view.find({.id = "pcie.h2d.pinned", .name = "pinning_pays_from"});
  return fmt::format("{}: {} H2D, {} D2H", host_link_name(*view.facts), rate("h2d"), rate("d2h")) +
         (sizes.empty() ? ""
                        : fmt::format("; pinned H2D copies reach {}", fmt::join(sizes, ", "))) +
         (pays == nullptr
              ? ""
              : fmt::format("; from {} on they are faster than pageable ones, pinning not counted",
                            format_size(pays->value)));
}

// Compares pinned with pageable memory at the largest size, and splits the cost of pinned memory
// into pages and pinning.
std::string host_memory_title(const TitleView& view) {
  const Figure& share = *view.all({.name = "share_of_pinned"}).back();
  const auto per_gib = [&](const char* id) {
    return format_time(view.value({.id = id, .name = "time_per_gib", .by = {{"pages", "small"}}}));
  };
  return fmt::format(
      "Pageable H2D copies of {} run at {} of the pinned rate; a GiB of host memory takes {} to "
      "touch, then {} to pin",
      format_size(static_cast<double>(*int_param(share.by, "bytes"))), format_percent(share.value),
      per_gib("allocation.first_touch"), per_gib("allocation.register"));
}

// The share of the link's raw rate that packet headers leave for data.
void summarize_link_data(const CurveView& curve, Figures& figures) {
  if (curve.device == nullptr) return;
  for (const char* direction : {"h2d", "bidirectional"}) {
    const std::string name = std::string("pcie.") + direction;
    const auto& rows = curve.profile->ceilings;
    const Ceiling* raw = find_ceiling(rows, curve.device->uuid, name, Basis::kTheoretical);
    const Ceiling* measured = find_ceiling(rows, curve.device->uuid, name, Basis::kMeasured);
    if (raw == nullptr || measured == nullptr) continue;
    const auto packets = std::ranges::find(measured->factors, kPacketsFactor, &Factor::name);
    if (packets != measured->factors.end())
      figures.add("data_rate", raw->value * packets->value, {{"direction", direction}});
  }
}

Picture pcie_picture() {
  const auto raw = [](const char* label, const char* name) -> Mark {
    return {.label = label, .resource = name, .basis = "theoretical"};
  };
  const auto data = [](const char* label, const char* direction) -> Mark {
    return {.label = label,
            .figure = Numbers{"pcie.h2d.pinned", "data_rate", {{"direction", direction}}}};
  };
  const auto share = [](const char* label, std::int64_t percent) -> Mark {
    return {.label = label,
            .upright = true,
            .figure = Numbers{"pcie.h2d.pinned", kSizeForShare, {{"percent", percent}}}};
  };
  return {.key = "pcie",
          .subject = "Host link: copies between host and device",
          .how =
              "Small copies cost a fixed time, large ones run at the link's rate. Both ways counts "
              "the bytes of both directions.",
          .panels = {{.over = "bytes",
                      .x = size_axis("bytes of one copy"),
                      .y = {.label = "GB/s", .per = 1e9, .scale = Scale::kLog10},
                      .series = {{"H2D, pinned", {.id = "pcie.h2d.pinned"}},
                                 {"D2H, pinned", {.id = "pcie.d2h.pinned"}},
                                 {"H2D, pageable", {.id = "pcie.h2d.pageable"}},
                                 {"D2H, pageable", {.id = "pcie.d2h.pageable"}},
                                 {"both ways, pinned", {.id = "pcie.bidirectional.pinned"}}},
                      .marks = {raw("link, raw", "c2c.h2d"), data("link, data", "h2d"),
                                raw("both ways, raw", "c2c.bidirectional"),
                                data("both ways, data", "bidirectional"), share("50 %", 50),
                                share("90 %", 90)},
                      .naming = Naming::kEndsWithValue}}};
}

Picture host_memory_picture() {
  std::vector<PictureSeries> rates;
  for (const auto& [direction, label] : {std::pair<std::string, const char*>{"h2d", "H2D"},
                                         {"d2h", "D2H"},
                                         {"bidirectional", "both ways"}})
    for (const std::string kind : {"pinned", "write_combined", "mapped", "pageable"})
      rates.push_back({label,
                       {.id = "pcie." + direction + "." + kind,
                        .figure = "compared_rate",
                        .where = {{"direction", direction}}}});
  const auto cost = [](const char* label, const char* id, Params where = {}) -> PictureSeries {
    return {.label = label,
            .numbers = {.id = id, .figure = "time_per_gib", .where = std::move(where)},
            .group = 3};
  };
  return {
      .key = "host-memory",
      .subject = "Host memory: copy bandwidth by kind, and the cost of allocating it",
      .how =
          "Copy engines move pinned and write-combined memory, SMs read and write mapped "
          "memory, and the CPU stages pageable memory. Both ways counts the bytes of both "
          "directions. One thread pays once: the first touch makes a page, cudaHostRegister "
          "pins pages that there are, and cudaHostAlloc makes and pins them.",
      .panels = {
          {.kind = PanelKind::kBars,
           .over = "memory",
           .x = {.label = "GB/s, copies of " + format_size(static_cast<double>(kComparedBytes)),
                 .per = 1e9},
           .series = std::move(rates),
           .names = {{"pinned", "pinned"},
                     {"write_combined", "write-combined"},
                     {"mapped", "mapped, by SMs"},
                     {"pageable", "pageable"}}},
          {.kind = PanelKind::kBars,
           .x = {.label = "time per GiB", .written = Written::kTime},
           .series = {
               cost("cudaHostAlloc", "allocation.pinned"),
               cost("cudaHostRegister, small pages", "allocation.register", {{"pages", "small"}}),
               cost("cudaHostRegister, huge pages", "allocation.register", {{"pages", "huge"}}),
               cost("first touch, small pages", "allocation.first_touch", {{"pages", "small"}}),
               cost("first touch, huge pages", "allocation.first_touch", {{"pages", "huge"}})}}}};
}

// Ceilings of the link that the device has; PCIe while the device is unknown.
std::vector<CeilingRule> ceiling(const std::string& direction, int directions) {
  const auto counts = [](bool c2c) {
    return [large = at_least("bytes", kCeilingCopyBytes), c2c](const Measurement& m,
                                                               const DeviceFacts* device) {
      return c2c == (device != nullptr && device->c2c.has_value()) && large(m, device);
    };
  };
  return {{.resource = resource("pcie." + direction),
           .counts = counts(false),
           .limit = pcie_link(directions)},
          {.resource = resource("c2c." + direction),
           .counts = counts(true),
           .limit = c2c_link(directions)}};
}

// The size at which copies reach a rate, from the measured ones around it: between them a copy's
// time grows in proportion to its bytes. nullopt unless they are near enough to tell.
std::optional<double> size_at(const std::vector<CurvePoint>& points, double rate) {
  // A quick run's few sizes are further apart.
  constexpr double kNearSizes = 8;
  const auto reached =
      std::ranges::find_if(points, [&](const CurvePoint& p) { return p.value() >= rate; });
  if (reached == points.begin() || reached == points.end()) return std::nullopt;
  const CurvePoint &low = *std::prev(reached), &high = *reached;
  if (high.x > low.x * kNearSizes) return std::nullopt;
  const double from_s = low.x / low.value(), to_s = high.x / high.value();
  const double per_byte = (to_s - from_s) / (high.x - low.x);
  double size = rate * (from_s - per_byte * low.x) / (1 - rate * per_byte);
  round_digits(size, 2);
  return size;
}

// The sizes from which shares of the top rate are reached.
CurveRule rate_over_size() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, "bytes");
    if (points.size() < 2) return;
    const double top = std::ranges::max(points, {}, &CurvePoint::value).value();
    for (const std::int64_t percent : kPercents)
      if (const auto size = size_at(points, top * static_cast<double>(percent) / 100))
        figures.add(kSizeForShare, *size, {{"percent", percent}});
  };
  return {kTopic, {{kSizeForShare, "B", {"percent"}}}, summarize};
}

// Rate of pageable over pinned H2D copies, at kComparedBytes and at the largest size.
void summarize_pageable_share(const CurveView& curve, Figures& figures) {
  const auto points = sweep(curve, "bytes");
  for (const CurvePoint& point : points) {
    if (point.x != static_cast<double>(kComparedBytes) && point.x != points.back().x) continue;
    const Measurement* pinned = curve.measurement(point_name("pcie.h2d.pinned", point.m->params));
    if (pinned == nullptr) continue;
    figures.add("share_of_pinned", point.value() / *pinned->value,
                {{"bytes", std::llround(point.x)}});
  }
}

// Time and rate of a copy with pinned and with pageable memory, by size, and the size from which
// pinned copies are always faster.
CurveRule copies_by_size(const std::string& direction) {
  constexpr double kFaster = 1.1;
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    std::optional<double> pays_from;
    for (const CurvePoint& point : sweep(curve, "bytes")) {
      const Measurement* pageable =
          curve.measurement(point_name("pcie." + direction + ".pageable", point.m->params));
      if (pageable == nullptr) continue;
      if (const Params by = {{"bytes", std::llround(point.x)}};
          std::ranges::find(kToldBytes, std::llround(point.x)) != std::end(kToldBytes)) {
        figures.add("pinned_time", point.x / point.value(), by);
        figures.add("pinned_rate", point.value(), by);
        figures.add("pageable_time", point.x / *pageable->value, by);
        figures.add("pageable_rate", *pageable->value, by);
      }
      if (point.value() < kFaster * *pageable->value)
        pays_from.reset();
      else if (!pays_from)
        pays_from = point.x;
    }
    if (pays_from) figures.add("pinning_pays_from", *pays_from);
  };
  const std::vector<std::string> by = {"bytes"};
  return {kTopic,
          {{"pinned_time", "s", by},
           {"pinned_rate", "B/s", by},
           {"pageable_time", "s", by},
           {"pageable_rate", "B/s", by},
           {"pinning_pays_from", "B"}},
          summarize};
}

// Rate of the largest copies, and of the fastest ones where smaller copies are much faster.
CurveRule pageable_rates(std::string of_largest, std::string of_pieces) {
  constexpr double kMuchFaster = 1.1;
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, "bytes");
    if (points.empty()) return;
    const CurvePoint& fastest = std::ranges::max(points, {}, &CurvePoint::value);
    figures.add("pageable_rate", points.back().value(), {{"bytes", std::llround(points.back().x)}});
    if (fastest.value() > kMuchFaster * points.back().value())
      figures.add("highest_pageable_rate", fastest.value(), {{"bytes", std::llround(fastest.x)}});
  };
  return {kTopic,
          {{"pageable_rate", "B/s", {"bytes"}, std::move(of_largest)},
           {"highest_pageable_rate", "B/s", {"bytes"}, std::move(of_pieces)}},
          summarize};
}

// Rate at kComparedBytes.
CurveRule compared_rate(const std::string& memory, const std::string& direction) {
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    for (const CurvePoint& point : sweep(curve, "bytes"))
      if (point.x == static_cast<double>(kComparedBytes))
        figures.add(
            "compared_rate", point.value(),
            {{"memory", memory}, {"direction", direction}, {"bytes", std::llround(point.x)}});
  };
  return {kHostMemory, {{"compared_rate", "B/s", {"memory", "direction", "bytes"}}}, summarize};
}

// One copy beside the smallest "piece".
void summarize_pieces(const CurveView& curve, Figures& figures) {
  const auto points = sweep(curve, "piece");
  if (points.size() < 2) return;
  figures.add("whole", points.back().m->summary->median);
  figures.add("in_pieces", points.front().m->summary->median);
  figures.add("smallest_piece", points.front().x);
  figures.add("total", points.back().x);
}

void summarize_numa(const CurveView& curve, Figures& figures) {
  for (const CurvePoint& point : sweep(curve, "node"))
    if (const auto direction = text_param(point.m->params, "direction"))
      figures.add("rate", point.value(),
                  {{"node", std::llround(point.x)}, {"direction", *direction}});
}

}  // namespace

void register_pcie(Registry& registry) {
  const auto add = [&](int directions, Benchmark benchmark, Run run) {
    const bool pinned = !benchmark.ceilings.empty();
    benchmark.work = directions == 2 ? "bytes of both directions, timed until both are done"
                                     : "bytes over the link, counted once";
    benchmark.quantity = Quantity::kByteRate;
    benchmark.method_version = pinned ? kPinnedMethod : 1;
    benchmark.loads = Loads::kLink;
    benchmark.estimate = pinned ? kPinnedEstimate : Estimate::kMedian;
    benchmark.limit = host_link(directions);
    registry.add(std::move(benchmark), std::move(run));
  };
  add(1,
      {.id = "pcie.h2d.pinned",
       .what = "Copy bandwidth from pinned host memory to the device, by size",
       .varies_with = VariesWith::kLaunches,
       .ceilings = ceiling("h2d", 1),
       .curves = {rate_over_size(),
                  copies_by_size("h2d"),
                  {kTopic, {{"data_rate", "B/s", {"direction"}}}, summarize_link_data},
                  compared_rate("pinned", "h2d")},
       .topics = {{kTopic, pcie_title, pcie_picture()}},
       .points = size_points(true)},
      locked(Memory::kPinned, Direction::kToDevice));
  add(1,
      {.id = "pcie.d2h.pinned",
       .what = "Copy bandwidth from the device to pinned host memory, by size",
       .varies_with = VariesWith::kLaunches,
       .ceilings = ceiling("d2h", 1),
       .curves = {rate_over_size(), copies_by_size("d2h"), compared_rate("pinned", "d2h")},
       .points = size_points(true)},
      locked(Memory::kPinned, Direction::kToHost));
  // Pageable copies are staged by the CPU, so their rate says little about the link: no ceiling.
  add(1,
      {.id = "pcie.h2d.pageable",
       .what = "Copy bandwidth from pageable host memory to the device, by size",
       .varies_with = VariesWith::kCpu,
       .curves = {pageable_rates(role::kPageableToDevice, role::kPiecesToDevice),
                  {kHostMemory,
                   {{"share_of_pinned", unit::kShare, {"bytes"}}},
                   summarize_pageable_share},
                  compared_rate("pageable", "h2d")},
       .topics = {{kHostMemory, host_memory_title, host_memory_picture()}},
       .points = size_points(false)},
      pageable(Direction::kToDevice));
  add(1,
      {.id = "pcie.d2h.pageable",
       .what = "Copy bandwidth from the device to pageable host memory, by size",
       .varies_with = VariesWith::kCpu,
       .curves = {pageable_rates(role::kPageableToHost, role::kPiecesToHost),
                  compared_rate("pageable", "d2h")},
       .points = size_points(false)},
      pageable(Direction::kToHost));
  add(2,
      {.id = "pcie.bidirectional.pinned",
       .what = "Copy bandwidth in both directions at once, pinned host memory, by size",
       .varies_with = VariesWith::kLaunches,
       .ceilings = ceiling("bidirectional", 2),
       .curves = {compared_rate("pinned", "bidirectional")},
       .points = size_points(true)},
      locked_both_ways(Memory::kPinned));

  // The other memories and directions, at kComparedBytes only.
  const Point copy{.phase = Phase::kLink, .seconds = 0.15};
  const auto compared = points_over("bytes", {static_cast<std::int64_t>(kComparedBytes)}, copy);
  const auto way = [&](const std::string& direction, const std::string& memory, const char* what,
                       Run run, VariesWith varies = VariesWith::kLaunches) {
    add(direction == "bidirectional" ? 2 : 1,
        {.id = "pcie." + direction + "." + memory,
         .what = what,
         .varies_with = varies,
         .curves = {compared_rate(memory, direction)},
         .points = compared},
        std::move(run));
  };
  way("h2d", "write_combined", "Copy bandwidth from write-combined host memory to the device",
      locked(Memory::kWriteCombined, Direction::kToDevice));
  way("d2h", "write_combined", "Copy bandwidth from the device to write-combined host memory",
      locked(Memory::kWriteCombined, Direction::kToHost));
  way("bidirectional", "write_combined",
      "Copy bandwidth in both directions at once, write-combined host memory",
      locked_both_ways(Memory::kWriteCombined));
  way("h2d", "mapped", "Bandwidth of SMs that read mapped host memory",
      locked(Memory::kMapped, Direction::kToDevice));
  way("d2h", "mapped", "Bandwidth of SMs that write mapped host memory",
      locked(Memory::kMapped, Direction::kToHost));
  way("bidirectional", "mapped", "Bandwidth of SMs that read and write mapped host memory at once",
      on_gpu([](auto& bench) { copy_mapped_memory_both_ways(bench); }));
  way("bidirectional", "pageable",
      "Copy bandwidth in both directions at once, pageable host memory",
      on_gpu([](auto& bench) { copy_pageable_memory_both_ways(bench); }), VariesWith::kCpu);
  add(1,
      {.id = "pcie.h2d.pieces",
       .what = "Time of 16 MiB from pinned host memory to the device, by piece",
       .varies_with = VariesWith::kLaunches,
       .curves = {{kHostMemory,
                   {{"whole", "s"}, {"in_pieces", "s"}, {"smallest_piece", "B"}, {"total", "B"}},
                   summarize_pieces}},
       .points = points_over("piece", {4 << 10, 64 << 10, 1 << 20, kPiecesBytes}, copy)},
      on_gpu([](auto& bench) { copy_in_pieces(bench, kPiecesBytes); }));
  add(1,
      {.id = "pcie.node",
       .what = "Copy bandwidth with pinned memory on each NUMA node of the machine",
       .varies_with = VariesWith::kLaunches,
       .curves = {{kHostMemory, {{"rate", "B/s", {"node", "direction"}}}, summarize_numa}},
       .points = node_points()},
      on_gpu([](auto& bench) { copy_at_numa_node(bench); }));
}

}  // namespace peakline::bench

#include "bench/collectives.hpp"

#include <stdexcept>

#include "bench/question.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/values/text.hpp"

namespace peakline::bench {
namespace {

// Operations up to kSmall are reported by time, from kLarge on by bandwidth.
constexpr double kSmall = 2 * kMiB, kLarge = 256 * kKiB;

}  // namespace

std::string_view to_string(Collective collective) {
  return name_of(
      {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"},
      collective);
}

std::string_view label_of(Collective collective) {
  return name_of(
      {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send/receive"},
      collective);
}

double bus_bytes(Collective collective, std::size_t ranks, double bytes) {
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::kAllReduce:
      return bytes * 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return bytes * (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kSendReceive:
      return bytes;
  }
  throw std::logic_error("no such collective");
}

double algorithm_bandwidth(Collective collective, std::size_t ranks, double bus_rate) {
  return bus_rate / bus_bytes(collective, ranks, 1);
}

Limit collective_limit() {
  return {.of = [](const Measurement* m,
                   const DeviceFacts& device) -> std::optional<PhysicalLimit> {
    // With NVLS the switch reduces, so GPUs send less than the bus bandwidth implies.
    if (m != nullptr) {
      const auto algorithm = text_param(m->launch, "algorithm");
      if (algorithm ? algorithm->starts_with("NVLS")
                    : text_param(m->launch, "nvls").value_or("0") != "0")
        return std::nullopt;
    }
    const NvLinks& links = device.nvlinks;
    const auto payload = links.version ? nvlink_payload_bandwidth(*links.version) : std::nullopt;
    if (!payload || links.up() <= 0) return std::nullopt;
    return PhysicalLimit{.value = *payload * links.up(),
                         .how = fmt::format("{} NVLinks of version {} x {:.4g} GB/s", links.up(),
                                            *links.version, *payload / 1e9),
                         .conditions = {}};
  }};
}

CurveRule collective_curve(Collective collective) {
  const auto summarize = [collective](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "bytes");
    if (points.size() < 2) return;
    for (const CurvePoint& point : points) {
      const Params by = {{"bytes", std::llround(point.x)}};
      if (point.x <= kSmall) sentence.figure("small_time", point.m->summary->median, by);
      if (point.x >= kLarge) sentence.figure("large_bandwidth", point.value(), by);
    }
    const CurvePoint &smallest = points.front(), &largest = points.back();
    const double smallest_s = smallest.m->summary->median, top = largest.value();
    std::string text = fmt::format("{}: {} in {}", label_of(collective), format_size(smallest.x),
                                   format_time(smallest_s));
    sentence.figure("smallest", smallest_s);
    const auto half =
        std::ranges::find_if(points, [&](const CurvePoint& p) { return p.value() >= top / 2; });
    if (half->x < largest.x) {
      text += fmt::format(", half of the top rate from {}", format_size(half->x));
      sentence.figure("half_rate", half->x);
    }
    text += fmt::format(", {} at {}", format_rate(top, "B/s"), format_size(largest.x));
    sentence.figure("bus_bandwidth", top);
    const auto all = curve.ceiling("nvlink.all_to_all", Basis::kMeasured);
    const auto ranks = int_param(largest.m->params, "ranks");
    if (ranks)
      sentence.figure("algorithm_bandwidth",
                      algorithm_bandwidth(collective, static_cast<std::size_t>(*ranks), top));
    if (all && ranks) {
      const double share = top / (*all / static_cast<double>(*ranks));
      text += fmt::format(" ({} of what copies reach)", format_percent(share));
      sentence.figure("share_of_links", share);
    }
    sentence.add(std::move(text));
  };
  return {kCollectivesTopic,
          {{"small_time", "s", {"bytes"}},
           {"large_bandwidth", "B/s", {"bytes"}},
           {"smallest", "s"},
           {"half_rate", "B"},
           {"bus_bandwidth", "B/s"},
           {"algorithm_bandwidth", "B/s"},
           {"share_of_links", "1"}},
          summarize};
}

std::string collectives_title(const TitleView& view) {
  return fmt::format("All-reduce takes at least {} and reaches {} of bus bandwidth",
                     view.text({.id = "nccl.all_reduce", .name = "smallest"}),
                     view.text({.id = "nccl.all_reduce", .name = "bus_bandwidth"}));
}

Picture collectives_picture() {
  std::vector<PictureSeries> times, rates;
  for (const Collective collective : kCollectives) {
    const std::string id = "nccl." + std::string(to_string(collective));
    const std::string label(label_of(collective));
    times.push_back({label, {.id = id, .figure = "small_time"}});
    rates.push_back({label, {.id = id, .figure = "large_bandwidth"}});
  }
  const Axis bytes = {
      .label = "bytes of the array", .written = Written::kSize, .scale = Scale::kLog2};
  return {
      .key = "collectives",
      .subject = "Collectives: NCCL over all GPUs of the node",
      .how =
          "Small operations cost a fixed time, whatever they move. Bus bandwidth is what each GPU "
          "has to send over the time, as nccl-tests counts it: hold it against a link's rate.",
      .panels = {{.over = "bytes",
                  .x = bytes,
                  .y = {.label = "µs per operation", .per = 1e-6, .low = 0},
                  .series = std::move(times)},
                 {.over = "bytes",
                  .x = bytes,
                  .y = {.label = "GB/s of bus bandwidth", .per = 1e9, .low = 0},
                  .series = std::move(rates),
                  .marks = {{.label = "links",
                             .resource = "nccl.all_reduce.busbw",
                             .basis = "theoretical"}},
                  .naming = Naming::kEndsWithValue}}};
}

}  // namespace peakline::bench

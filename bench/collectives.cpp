#include "bench/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "harness/hardware/spec.hpp"
#include "harness/values/text.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

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
    // The switch adds up, so that GPUs send less than bus bytes say.
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
  return {
      "collectives", [collective](const CurveView& curve, Sentence& sentence) {
        const auto points = sweep(curve, "bytes");
        if (points.size() < 2) return;
        const std::string name(to_string(collective));
        const CurvePoint &smallest = points.front(), &largest = points.back();
        const double smallest_s = smallest.m->summary->median, top = largest.value();
        std::string text = fmt::format("{}: {} in {}", label_of(collective),
                                       format_size(smallest.x), format_time(smallest_s));
        sentence.value(name + "_smallest_s", smallest_s);
        const auto half =
            std::ranges::find_if(points, [&](const CurvePoint& p) { return p.value() >= top / 2; });
        if (half->x < largest.x) {
          text += fmt::format(", half of the top rate from {}", format_size(half->x));
          sentence.value(name + "_half_rate_bytes", half->x);
        }
        text += fmt::format(", {} at {}", format_rate(top, "B/s"), format_size(largest.x));
        sentence.value(name + "_bus_bytes_per_s", top);
        const auto all = curve.ceiling("nvlink.all_to_all", Basis::kMeasured);
        const auto ranks = int_param(largest.m->params, "ranks");
        if (ranks)
          sentence.value(name + "_algorithm_bytes_per_s",
                         algorithm_bandwidth(collective, static_cast<std::size_t>(*ranks), top));
        if (all && ranks) {
          const double share = top / (*all / static_cast<double>(*ranks));
          text += fmt::format(" ({} of what the links carry)", format_percent(share));
          sentence.value(name + "_share_of_links", share);
        }
        sentence.add(std::move(text));
      }};
}

}  // namespace peakline::bench

#include "harness/conclude/concurrency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/statistics/statistics.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr double kBandwidthShare = 0.9, kFmaShare = 0.95;
// Below this share of the rate over smaller footprints, the TLB does not cover a footprint.
constexpr double kWithinReach = 0.75;
constexpr std::size_t kFewestWithinReach = 3;
constexpr double kBytesOfWarp = 32 * 16;  // a load of 16 bytes by each thread

}  // namespace

std::optional<double> in_flight_for(std::span<const InFlight> points, double wanted) {
  std::map<double, double> fastest;  // by amount
  for (const InFlight& point : points) {
    double& rate = fastest[point.amount];
    rate = std::max(rate, point.rate);
  }
  std::optional<InFlight> before;
  for (const auto& [amount, rate] : fastest) {
    if (rate < wanted) {
      before = {amount, rate};
      continue;
    }
    if (!before) return std::nullopt;
    return before->amount +
           (amount - before->amount) * (wanted - before->rate) / (rate - before->rate);
  }
  return std::nullopt;
}

CurveRule bytes_in_flight_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    std::vector<InFlight> points;
    double top = 0;
    for (const CurvePoint& point : sweep(curve, "warps")) {
      const auto loads = int_param(point.m->params, "loads");
      if (!loads) continue;
      const double in_flight = point.x * static_cast<double>(*loads) * kBytesOfWarp;
      points.push_back({in_flight, *point.m->value});
      sentence.figure("rate", *point.m->value,
                      {{"loads", *loads}, {"in_flight", std::llround(in_flight)}});
      top = std::max(top, *point.m->value);
    }
    const auto ceiling = curve.ceiling("hbm.read", Basis::kMeasured);
    const double bandwidth = ceiling.value_or(top);
    const auto bytes = in_flight_for(points, kBandwidthShare * bandwidth);
    if (!bytes || curve.device == nullptr || !curve.device->sm_count) return;
    const double all = *bytes * *curve.device->sm_count;
    std::string text = fmt::format("{:.0f} % of {} needs at least {} in flight per SM, {} in all",
                                   kBandwidthShare * 100, format_rate(bandwidth, "B/s"),
                                   format_size(*bytes), format_size(all));
    sentence.figure("in_flight_per_sm", *bytes);
    sentence.figure("in_flight", all);
    if (const Measurement* latency = curve.measurement("latency.hbm")) {
      const double little = *latency->value * bandwidth;
      text += fmt::format("; idle latency x bandwidth is {}", format_size(little));
      sentence.figure("latency_times_bandwidth", little);
    }
    sentence.add(std::move(text));
  };
  return {"occupancy",
          {{"rate", "B/s", {"loads", "in_flight"}},
           {"in_flight_per_sm", "B"},
           {"in_flight", "B"},
           {"latency_times_bandwidth", "B"}},
          summarize};
}

CurveRule chains_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "warps");
    if (points.empty()) return;
    // Per clock, as some points lower it.
    const auto rate = [](const CurvePoint& point) {
      return *point.m->value / point.m->conditions.sm_clock_hz.value_or(1);
    };
    for (const CurvePoint& point : points)
      if (!point.m->conditions.sm_clock_hz) return;
    const double top = rate(std::ranges::max(points, {}, rate));
    std::map<std::int64_t, double> warps;  // fewest, by chains
    for (const CurvePoint& point : points)
      if (const auto chains = int_param(point.m->params, "chains");
          chains && rate(point) >= kFmaShare * top)
        warps.try_emplace(*chains, point.x);
    std::vector<std::string> needs;
    for (const auto& [chains, fewest] : warps) {
      needs.push_back(
          fmt::format("{:.0f} warps per SM with {}", fewest, format_count(chains, "chain")));
      sentence.figure("warps_per_sm", fewest, {{"chains", chains}});
    }
    if (!needs.empty())
      sentence.add(fmt::format("{:.0f} % of the FP32 rate per clock needs {}", kFmaShare * 100,
                               fmt::join(needs, ", ")));
  };
  return {"occupancy", {{"warps_per_sm", "1", {"chains"}}}, summarize};
}

CurveRule gather_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "bytes");
    std::vector<double> rates;
    double reach = 0;
    for (const CurvePoint& point : points) {
      if (!rates.empty() && *point.m->value < kWithinReach * median(rates)) break;
      rates.push_back(*point.m->value);
      reach = point.x;
    }
    if (rates.size() < kFewestWithinReach) return;
    const double rate = median(rates);
    std::string text =
        fmt::format("sectors of 32 B: {} up to {}", format_rate(rate, "B/s"), format_size(reach));
    sentence.figure("rate", rate);
    if (rates.size() < points.size()) {
      const double beyond = *points.back().m->value;
      text += fmt::format(", {} over {}", format_rate(beyond, "B/s"), format_size(points.back().x));
      sentence.figure("reach", reach);
      sentence.figure("rate_beyond", beyond);
      sentence.figure("beyond", points.back().x);
    }
    sentence.add(std::move(text));
  };
  return {"random access",
          {{"rate", "B/s", {}, role::kReachRate},
           {"reach", "B", {}, role::kReach},
           {"rate_beyond", "B/s", {}, role::kBeyondRate},
           {"beyond", "B", {}, role::kBeyond}},
          summarize};
}

}  // namespace peakline

#include "harness/conclude/latency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/hardware/spec.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

constexpr double kFlat = 1.05;
// The near part of an L2 ends at this share of the step to the far part: its last footprint varies
// from the near plateau to 7 % above it between runs.
constexpr double kEndOfNear = 0.25;
constexpr std::size_t kFewestOfPlateau = 3;
// L1 and shared memory are one memory, at most this factor larger than the most shared memory.
constexpr double kL1OverShared = 1.5;
// Latencies of mixed hits and misses above this share count as misses.
constexpr double kNearlyAll = 0.9;

double seconds_of(const CurvePoint& point) { return *point.m->value; }

// The last x with nearly the highest latency; nullopt if it is the last of all.
std::optional<double> last_before_fall(const std::vector<CurvePoint>& points) {
  if (points.empty()) return std::nullopt;
  const double high = kNearlyAll * seconds_of(std::ranges::max(points, {}, seconds_of));
  const auto found = std::find_if(points.rbegin(), points.rend(),
                                  [&](const CurvePoint& p) { return seconds_of(p) >= high; });
  if (found == points.rbegin()) return std::nullopt;
  return found->x;
}

// The first x with nearly the highest latency; nullopt if it is the first of all.
std::optional<double> end_of_rise(const std::vector<CurvePoint>& points) {
  if (points.empty()) return std::nullopt;
  const double high = kNearlyAll * seconds_of(std::ranges::max(points, {}, seconds_of));
  const auto found =
      std::ranges::find_if(points, [&](const CurvePoint& p) { return seconds_of(p) >= high; });
  if (found == points.begin()) return std::nullopt;
  return found->x;
}

}  // namespace

std::vector<Plateau> plateaus(std::span<const LatencyPoint> points) {
  std::vector<Plateau> found;
  for (std::size_t begin = 0; begin < points.size();) {
    std::vector<double> seconds;
    double low = points[begin].seconds, high = low;
    std::size_t end = begin;
    for (; end < points.size(); ++end) {
      low = std::min(low, points[end].seconds);
      high = std::max(high, points[end].seconds);
      if (high > kFlat * low) break;
      seconds.push_back(points[end].seconds);
    }
    if (seconds.size() < kFewestOfPlateau) {
      ++begin;
      continue;
    }
    found.push_back({points[begin].bytes, points[end - 1].bytes, median(seconds)});
    begin = end;
  }
  return found;
}

CurveRule latency_curve(const std::string& label, const std::string& level) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const std::string name(label.empty() && curve.device != nullptr ? memory_name(*curve.device)
                                                                    : label);
    for (const Measurement* m : curve.points) {
      const auto part = text_param(m->params, "part");
      Params by = {{"level", level}};
      if (part) by.emplace_back("part", *part);
      std::string text =
          fmt::format("{}{} {}", name, part ? " " + *part : "", format_time(*m->value));
      sentence.figure("latency", *m->value, by);
      if (const auto clock_hz = m->conditions.sm_clock_hz) {
        const double cycles = *m->value * *clock_hz;
        text += fmt::format(", {:.0f} cycles", cycles);
        sentence.figure("cycles", cycles, by);
      }
      sentence.add(std::move(text));
    }
  };
  return {kMemoryLatency,
          {{"latency", "s", {"level"}, role::kLatency},
           {"latency", "s", {"level", "part"}, role::kLatency},
           {"cycles", "cycles", {"level"}},
           {"cycles", "cycles", {"level", "part"}}},
          summarize};
}

CurveRule latency_steps_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    if (curve.device == nullptr) return;
    std::vector<LatencyPoint> points;
    for (const CurvePoint& point : sweep(curve, "bytes"))
      points.push_back({point.x, seconds_of(point)});
    const double l1 = kL1OverShared * curve.device->shared_per_sm_bytes.value_or(0);
    const double l2 = curve.device->l2_bytes.value_or(0);
    std::optional<Plateau> in_l1, in_near_l2, in_l2, in_memory;
    for (const Plateau& plateau : plateaus(points)) {
      if (plateau.to_bytes > l1 && plateau.to_bytes <= l2)
        in_near_l2 = std::exchange(in_l2, plateau);
      else
        (plateau.to_bytes <= l1 ? in_l1 : in_memory) = plateau;
    }
    if (in_near_l2) {
      const double end_s =
          in_near_l2->seconds + kEndOfNear * (in_l2->seconds - in_near_l2->seconds);
      for (const LatencyPoint& point : points)
        if (point.bytes < in_l2->from_bytes && point.seconds <= end_s)
          in_near_l2->to_bytes = std::max(in_near_l2->to_bytes, point.bytes);
    }
    std::vector<std::string> parts;
    const auto holds = [&](const char* label, const char* name, const char* level,
                           const std::optional<Plateau>& plateau) {
      if (!plateau) return;
      parts.push_back(fmt::format("{} up to {}", label, format_size(plateau->to_bytes)));
      sentence.figure(name, plateau->to_bytes, {{"level", level}});
    };
    holds("wholly in L1", "held", "l1", in_l1);
    holds("in the near part of L2", "near_held", "l2", in_near_l2);
    holds("in L2", "held", "l2", in_l2);
    if (!parts.empty()) sentence.add(fmt::format("{}", fmt::join(parts, ", ")));
    if (!in_memory) return;
    std::string text = fmt::format("{} up to {}", format_time(in_memory->seconds),
                                   format_size(in_memory->to_bytes));
    sentence.figure("plateau", in_memory->seconds);
    sentence.figure("plateau_up_to", in_memory->to_bytes);
    if (points.back().bytes > in_memory->to_bytes) {
      text += fmt::format(", {} over {}", format_time(points.back().seconds),
                          format_size(points.back().bytes));
      sentence.figure("largest", points.back().seconds);
    }
    sentence.add(std::move(text));
  };
  return {kMemoryLatency,
          {{"held", "B", {"level"}, role::kHeldByLatency},
           {"near_held", "B", {"level"}, role::kNearHeld},
           {"plateau", "s"},
           {"plateau_up_to", "B"},
           {"largest", "s"}},
          summarize};
}

CurveRule line_size_curve(const std::string& label, const std::string& level) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto line =
        last_before_fall(sweep_where(curve, "stride", "order", std::string("random")));
    if (!line) return;
    std::string text = fmt::format("{} lines of {}", label, format_size(*line));
    sentence.figure("line", *line, {{"level", level}});
    // Larger strides make the footprint fit.
    auto rising = sweep_where(curve, "stride", "order", std::string("sequential"));
    std::erase_if(rising, [&](const CurvePoint& p) { return p.x > *line; });
    if (const auto sector = end_of_rise(rising)) {
      text += fmt::format(", filled {} at a time", format_size(*sector));
      sentence.figure("sector", *sector, {{"level", level}});
    }
    sentence.add(std::move(text));
  };
  return {kMemoryLatency,
          {{"line", "B", {"level"}, role::kLine}, {"sector", "B", {"level"}, role::kSector}},
          summarize};
}

}  // namespace peakline

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "harness/conclude/curves.hpp"
#include "harness/conclude/findings.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/values/units.hpp"

namespace peakline {
namespace {

// Sizes at most this factor apart locate a bend; a quick run's few are further apart.
constexpr double kNearSizes = 8;

// Share of the rate at `aligned` with the same access width.
struct Share {
  const CurvePoint* point = nullptr;
  double share = 1;
};

std::vector<Share> shares_of_aligned(const std::vector<CurvePoint>& points, double aligned) {
  const auto width = [](const CurvePoint& p) { return int_param(p.m->params, "width"); };
  std::vector<Share> shares;
  for (const CurvePoint& point : points) {
    const auto base = std::ranges::find_if(
        points, [&](const CurvePoint& p) { return p.x == aligned && width(p) == width(point); });
    if (base != points.end()) shares.push_back({&point, point.value() / base->value()});
  }
  return shares;
}

// Rate ratio of a doubled stride: 0.5 while elements share a fetch, 1 when each has its own.
constexpr double kSharesFetch = 0.65;

// The distance from which elements no longer share a fetch, if seen. points: of one width.
std::optional<double> fetch_bytes(const std::vector<CurvePoint>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].x != 2 * points[i - 1].x) return std::nullopt;
    if (points[i].value() < kSharesFetch * points[i - 1].value()) continue;
    if (i == 1) return std::nullopt;  // perhaps not before either
    return points[i - 1].x * static_cast<double>(*int_param(points[i].m->params, "width"));
  }
  return std::nullopt;
}

// Share of a level's lead over the next one within the footprints that it holds. Replacement is
// roughly random, so the lead fades over an octave beyond.
constexpr double kHeld = 0.8;
// A lead that lasts an octave longer is that of a farther part.
constexpr double kHeldFarther = 0.35, kFarther = 1.6;
// Closer levels cannot be told apart.
constexpr double kLevelsApart = 1.1;

// Median rate over the first or last octave of a sweep.
double rate_at_start(const std::vector<CurvePoint>& points) {
  std::vector<double> rates;
  for (const CurvePoint& point : points)
    if (point.x <= 2 * points.front().x) rates.push_back(point.value());
  return median(rates);
}
double rate_at_end(const std::vector<CurvePoint>& points) {
  std::vector<double> rates;
  for (const CurvePoint& point : points)
    if (point.x >= points.back().x / 2) rates.push_back(point.value());
  return median(rates);
}

// Median rate over footprints up to this.
double rate_up_to(double bytes, const std::vector<CurvePoint>& points) {
  std::vector<double> rates;
  for (const CurvePoint& point : points)
    if (point.x <= bytes) rates.push_back(point.value());
  return median(rates);
}

// The last footprint with `share` of the start's lead over the end; nullopt without a lead.
std::optional<double> held_bytes(const std::vector<CurvePoint>& points, double share) {
  if (points.empty()) return std::nullopt;
  const double start = rate_at_start(points), end = rate_at_end(points);
  if (start < kLevelsApart * end) return std::nullopt;
  const auto beyond = std::ranges::find_if(
      points, [&](const CurvePoint& p) { return p.value() < end + share * (start - end); });
  if (beyond == points.begin() || beyond == points.end()) return std::nullopt;
  return std::prev(beyond)->x;
}

double intensity_of(const CurvePoint& point) { return point.m->work.flops / point.m->work.bytes(); }

// nullptr if no point has an intensity.
const CurvePoint* nearest_to(double knee, const std::vector<CurvePoint>& points) {
  const auto distance = [&](const CurvePoint& p) {
    return std::abs(std::log(intensity_of(p) / knee));
  };
  const CurvePoint* nearest = nullptr;
  for (const CurvePoint& point : points) {
    if (point.m->work.flops <= 0 || point.m->work.bytes() <= 0) continue;
    if (nearest == nullptr || distance(point) < distance(*nearest)) nearest = &point;
  }
  return nearest;
}

}  // namespace

CurveRule time_curve(std::string topic, const std::string& label, std::string role) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const Measurement& m = *curve.points.front();
    sentence.add(fmt::format("{} {}", label, format_time(*m.value)));
    sentence.figure("time", *m.value);
  };
  return {std::move(topic), {{.name = "time", .unit = "s", .role = std::move(role)}}, summarize};
}

CurveRule line_curve(std::string topic, const std::string& param, const std::string& label,
                     const std::string& item) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<double> items, times;
    for (const CurvePoint& point : sweep(curve, param)) {
      items.push_back(point.x);
      times.push_back(point.value());
      sentence.figure("time_per_item", point.value() / point.x, {{param, std::llround(point.x)}});
    }
    if (std::set(items.begin(), items.end()).size() < 2) return;
    const Line line = fit_line(items, times);
    const std::string per_item = fmt::format("{} per {}", format_time(line.per_item), item);
    sentence.add(line.fixed > 0
                     ? fmt::format("{} {} + {}", label, format_time(line.fixed), per_item)
                     : fmt::format("{} {}", label, per_item));
    sentence.figure("fixed", line.fixed);
    sentence.figure("per_item", line.per_item);
  };
  return {std::move(topic),
          {{"fixed", "s"}, {"per_item", "s"}, {"time_per_item", "s", {param}}},
          summarize};
}

CurveRule rate_over_size_curve(std::string topic, const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "bytes");
    if (points.size() < 2) return;
    const double top = std::ranges::max(points, {}, &CurvePoint::value).value();
    const auto half =
        std::ranges::find_if(points, [&](const CurvePoint& p) { return p.value() >= top / 2; });
    const double smallest_s = points.front().m->summary->median;
    std::string text =
        fmt::format("{}: {} in {}", label, format_size(points.front().x), format_time(smallest_s));
    sentence.figure("smallest_copy", smallest_s);
    if (half != points.begin() && half->x <= std::prev(half)->x * kNearSizes) {
      text += fmt::format(", half of the top rate from {}", format_size(half->x));
      sentence.figure("half_rate", half->x);
    }
    sentence.add(std::move(text));
  };
  return {std::move(topic), {{"smallest_copy", "s"}, {"half_rate", "B"}}, summarize};
}

CurveRule largest_size_curve(std::string topic, const std::string& label, std::string role) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "bytes");
    if (points.empty()) return;
    const Measurement& largest = *points.back().m;
    sentence.add(fmt::format("{} {}", label, format_value(*largest.value, largest.unit)));
    sentence.figure("largest_size_rate", *largest.value);
  };
  return {std::move(topic),
          {{.name = "largest_size_rate", .unit = "B/s", .role = std::move(role)}},
          summarize};
}

CurveRule width_curve(std::string topic) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::map<std::int64_t, const Measurement*> best;  // by width
    for (const CurvePoint& point : sweep(curve, "bytes")) {
      const auto width = int_param(point.m->params, "width");
      if (!width || point.x < kCeilingFootprintBytes) continue;
      const Measurement*& m = best[*width];
      if (m == nullptr || *m->value < point.value()) m = point.m;
    }
    if (best.size() < 2) return;
    for (const auto& [width, m] : best) {
      const auto& clock_hz = m->conditions.sm_clock_hz;
      const auto& max_hz = curve.device != nullptr ? curve.device->sm_clock_max_hz : std::nullopt;
      const bool held =
          m->flags.throttled && clock_hz && max_hz && *clock_hz < kFullClockShare * *max_hz;
      sentence.add(fmt::format("{} with {} B per thread{}", format_rate(*m->value, "B/s"), width,
                               held ? " (throttled to " + format_clock(*clock_hz) + ")" : ""));
      sentence.figure("rate", *m->value, {{"width", width}});
    }
  };
  return {std::move(topic), {{"rate", "B/s", {"width"}}}, summarize};
}

CurveRule footprint_curve(std::string topic, const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::int64_t widest = 0;
    for (const CurvePoint& point : sweep(curve, "width"))
      widest = std::max(widest, static_cast<std::int64_t>(point.x));
    std::vector<double> bytes, times;
    const Measurement* whole = nullptr;
    for (const Measurement* m : curve.points) {
      if (int_param(m->params, "width") != widest) continue;
      if (!int_param(m->params, "bytes")) {
        whole = m;
        continue;
      }
      bytes.push_back(m->work.bytes());
      times.push_back(m->summary->median);
    }
    std::vector<std::string> parts;
    if (const auto line = line_through_sizes(bytes, times)) {
      const double fixed_s = std::max(line->fixed, 0.0);
      parts.push_back(fmt::format("{} + bytes / {}", format_time(fixed_s),
                                  format_rate(1 / line->per_item, "B/s")));
      sentence.figure("fixed", fixed_s);
      sentence.figure("slope", 1 / line->per_item);
    }
    if (whole != nullptr) {
      parts.push_back(fmt::format("{} over {}", format_rate(*whole->value, "B/s"),
                                  format_size(whole->work.bytes())));
      sentence.figure("whole_memory", *whole->value);
    }
    sentence.add(label, parts);
  };
  return {std::move(topic), {{"fixed", "s"}, {"slope", "B/s"}, {"whole_memory", "B/s"}}, summarize};
}

CurveRule slowdown_curve(std::string topic, const std::string& param, const std::string& text) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, param);
    if (points.size() < 2 || points.front().x != 1) return;
    double factor = 1;
    for (const CurvePoint& point : points) {
      factor = points.front().value() / point.value();
      sentence.figure("slowdown", factor, {{param, std::llround(point.x)}});
    }
    sentence.add(fmt::format(fmt::runtime(text), fmt::format("{:.0f}", points.back().x),
                             format_number(factor)));
  };
  return {std::move(topic), {{"slowdown", "1", {param}}}, summarize};
}

CurveRule worst_share_curve(std::string topic, const std::string& param, std::int64_t aligned,
                            const std::string& unit, const std::string& reference) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, param);
    Share worst;
    for (const Share& share : shares_of_aligned(points, static_cast<double>(aligned))) {
      if (const auto width = int_param(share.point->m->params, "width"))
        sentence.figure("share", share.share,
                        {{"width", *width}, {param, std::llround(share.point->x)}});
      if (share.point->x == static_cast<double>(aligned)) continue;
      if (worst.point == nullptr || share.share < worst.share) worst = share;
    }
    if (worst.point == nullptr) return;
    const auto width = int_param(worst.point->m->params, "width");
    // Devices with less memory have a shorter range, so name it.
    const double furthest = std::ranges::max(points, {}, &CurvePoint::x).x;
    sentence.add(fmt::format("worst {} of {} to {:.0f}{}: {:.0f}{}, {} of {}", param, aligned,
                             furthest, unit, worst.point->x,
                             width ? fmt::format(" ({}-byte accesses)", *width) : "",
                             format_percent(worst.share), reference));
    sentence.figure("worst_at", worst.point->x);
    sentence.figure("worst_share", worst.share);
    sentence.figure("furthest", furthest);
  };
  return {std::move(topic),
          {{"share", "1", {"width", param}},
           {"worst_at", unit == " B" ? "B" : "1"},
           {"worst_share", "1"},
           {"furthest", unit == " B" ? "B" : "1"}},
          summarize};
}

CurveRule fetch_curve(std::string topic) {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    // By limit (0: none) and width.
    std::map<std::int64_t, std::map<std::int64_t, std::vector<CurvePoint>>> sweeps;
    for (const CurvePoint& point : sweep(curve, "stride"))
      if (const auto width = int_param(point.m->params, "width"))
        sweeps[int_param(point.m->params, "limit").value_or(0)][*width].push_back(point);
    std::vector<std::string> pieces;
    for (const auto& [limit, by_width] : sweeps) {
      std::vector<double> found;
      for (const auto& [width, points] : by_width)
        if (const auto bytes = fetch_bytes(points)) found.push_back(*bytes);
      if (found.empty()) continue;
      const double bytes = median(found);
      pieces.push_back(fmt::format("{:.0f} B at a time", bytes) +
                       (limit > 0 ? fmt::format(" with a limit of {} B", limit) : ""));
      sentence.figure("fetched", bytes,
                      limit > 0 ? Params{{"limit", limit}} : Params{{"level", "hbm"}});
    }
    sentence.add("fetched", pieces);
  };
  return {std::move(topic),
          {{"fetched", "B", {"level"}, role::kLine}, {"fetched", "B", {"limit"}}},
          summarize};
}

CurveRule cache_curve(std::string topic) {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    const auto l1 = sweep_where(curve, "sm_bytes", "through", std::string("l1"));
    if (const auto held = held_bytes(l1, kHeld)) {
      const double rate = rate_up_to(*held, l1);
      sentence.add(fmt::format("by footprint: L1 {} up to {} per SM", format_rate(rate, "B/s"),
                               format_size(*held)));
      sentence.figure("rate", rate, {{"level", "l1"}});
      sentence.figure("held", *held, {{"level", "l1"}});
    }
    if (curve.device == nullptr || !curve.device->sm_count) return;
    const double sms = *curve.device->sm_count;
    for (const char* through : {"l1", "l2"})
      for (const CurvePoint& point :
           sweep_where(curve, "sm_bytes", "through", std::string(through)))
        sentence.figure("rate", point.value(),
                        {{"through", through}, {"footprint", std::llround(point.x * sms)}});
    if (const auto held = held_bytes(l1, kHeld))
      sentence.figure("held_by_all_sms", *held * sms, {{"level", "l1"}});
    auto l2 = sweep_where(curve, "sm_bytes", "through", std::string("l2"));
    for (CurvePoint& point : l2) point.x *= sms;
    const auto held = held_bytes(l2, kHeld), farther = held_bytes(l2, kHeldFarther);
    if (!held || !farther) return;
    const double rate = rate_up_to(*held, l2), memory = rate_at_end(l2);
    const bool parts = *farther > kFarther * *held;
    const auto& stated = curve.device->l2_bytes;
    sentence.add(fmt::format(
        "L2 {} up to {}{}{}", format_rate(rate, "B/s"), format_size(*held),
        parts ? fmt::format(", its near part, slower up to {}", format_size(*farther)) : "",
        stated ? fmt::format(" ({} stated)", format_size(*stated)) : ""));
    sentence.add(fmt::format("the largest {} from memory", format_rate(memory, "B/s")));
    sentence.figure("rate", rate, {{"level", "l2"}});
    sentence.figure("held", parts ? *farther : *held, {{"level", "l2"}});
    if (parts) sentence.figure("full_rate_up_to", *held, {{"level", "l2"}});
    sentence.figure("rate", memory, {{"level", "hbm"}});
  };
  return {std::move(topic),
          {{"rate", "B/s", {"level"}},
           {"rate", "B/s", {"through", "footprint"}},
           {"held", "B", {"level"}, role::kHeldByRate},
           {"held_by_all_sms", "B", {"level"}},
           {"full_rate_up_to", "B", {"level"}, role::kFullRate}},
          summarize};
}

CurveRule thread_curve(std::string topic, const std::string& label, Quantity quantity) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "threads");
    if (points.size() < 2 || points.front().x != 1) return;
    const CurvePoint& best = std::ranges::max(points, {}, &CurvePoint::value);
    const Measurement& one = *points.front().m;
    const std::string alone =
        fmt::format("{}: {} with 1 thread", label, format_value(*one.value, one.unit));
    const double gain = best.value() / *one.value;
    constexpr double kNoGain = 1.01;
    sentence.add(gain < kNoGain ? alone + ", no more with several"
                                : fmt::format("{}, {} x as much with {:.0f}", alone,
                                              format_number(gain), best.x));
    sentence.figure("one_thread", *one.value);
    sentence.figure("speedup", best.value() / *one.value);
  };
  return {std::move(topic),
          {{"one_thread", std::string(unit_of(quantity))}, {"speedup", "1"}},
          summarize};
}

CurveRule knee_curve(std::string topic, const std::string& precision) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "fma_per_element");
    double roof = 0, slope = 0;
    for (const auto& [x, m] : points) {
      roof = std::max(roof, *m->value);
      slope = std::max(slope, m->work.bytes() / m->summary->median);
    }
    if (points.size() < 3 || roof <= 0 || slope <= 0) return;
    // The measured bend: highest rate over highest bandwidth.
    const double knee = roof / slope;
    const CurvePoint* nearest = nearest_to(knee, points);
    if (nearest == nullptr) return;
    const double share = nearest->value() / std::min(roof, slope * intensity_of(*nearest));
    sentence.add(
        fmt::format("{} sweep: {}, then {} from {} FLOP/byte; {} of its own roof at the bend",
                    upper(precision), format_rate(slope, "B/s"), format_rate(roof, "FLOP/s"),
                    format_number(knee), format_percent(share)));
    sentence.figure("bandwidth", slope);
    sentence.figure("roof", roof);
    sentence.figure("knee", knee);
    sentence.figure("share_at_knee", share);
  };
  return {std::move(topic),
          {{"bandwidth", "B/s"}, {"roof", "FLOP/s"}, {"knee", "FLOP/B"}, {"share_at_knee", "1"}},
          summarize};
}

}  // namespace peakline

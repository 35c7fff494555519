#include "bench/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "harness/values/units.hpp"

namespace peakline::bench {
namespace {

constexpr const char* kToShared = "copies to shared memory";
constexpr const char* kLink = "host link";
constexpr const char* kAllocation = "allocation";
// Of the highest rate of all ways.
constexpr double kNear = 0.9;

// The ways as CUDA's documentation calls them.
std::string way_label(const std::string& way) {
  if (way == "plain") return "plain loads";
  if (way == "cp_async") return "cp.async";
  if (way == "tensor_1d") return "1D tensor";
  if (way == "tensor_2d") return "2D tensor";
  return way;
}

// The values of a text parameter, in the order of the points.
std::vector<std::string> values_of(const CurveView& curve, std::string_view param) {
  std::vector<std::string> values;
  for (const Measurement* m : curve.points) {
    const auto value = text_param(m->params, param);
    if (value && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  }
  return values;
}

}  // namespace

CurveRule copy_rate_curve(std::string label, std::string prefix) {
  return {kToShared, [=](const CurveView& curve, Sentence& sentence) {
            double top = 0;
            for (const Measurement* m : curve.points) top = std::max(top, *m->value);
            std::vector<std::string> parts;
            std::map<double, std::vector<std::string>> enough_from;  // ways by the size
            for (const std::string& way : values_of(curve, "way")) {
              const auto points = sweep_where(curve, "tile", "way", way);
              if (points.empty()) continue;
              const double best = std::ranges::max(points, {}, &CurvePoint::value).value();
              const std::string name = prefix + "_" + way;
              parts.push_back(fmt::format("{} {}", way_label(way), format_rate(best, "B/s")));
              sentence.value(name + "_bytes_per_s", best);
              const auto enough = std::ranges::find_if(
                  points, [&](const CurvePoint& p) { return p.value() >= kNear * top; });
              if (enough == points.end()) continue;
              enough_from[enough->x].push_back(way_label(way));
              sentence.value(name + "_enough_bytes", enough->x);
            }
            std::vector<std::string> sizes;
            for (const auto& [bytes, ways] : enough_from)
              sizes.push_back(fmt::format("{} ({})", format_size(bytes),
                                          enough_from.size() == 1 && ways.size() == parts.size()
                                              ? "all"
                                              : fmt::format("{}", fmt::join(ways, ", "))));
            std::string text = fmt::format("{}: {}", label, fmt::join(parts, ", "));
            if (!sizes.empty())
              text += fmt::format(", {:.0f} % of the best from {}", kNear * 100,
                                  fmt::join(sizes, ", "));
            sentence.add(std::move(text));
          }};
}

CurveRule copy_latency_curve() {
  return {kToShared, [](const CurveView& curve, Sentence& sentence) {
            std::map<double, std::vector<std::string>> by_tile;
            for (const CurvePoint& point : sweep(curve, "tile")) {
              const auto way = text_param(point.m->params, "way");
              if (!way) continue;
              by_tile[point.x].push_back(
                  fmt::format("{} {}", way_label(*way), format_time(point.value())));
              sentence.value(fmt::format("latency_{}_{:.0f}_s", *way, point.x), point.value());
            }
            for (const auto& [tile, parts] : by_tile)
              sentence.add(
                  fmt::format("one copy of {}: {}", format_size(tile), fmt::join(parts, ", ")));
          }};
}

CurveRule link_way_curve(const std::string& memory, const std::string& direction) {
  std::string figure = memory + "_" + direction + "_bytes_per_s";
  const std::string way = memory == "write_combined" ? "write-combined" : memory;
  const std::string where = direction == "h2d"   ? " to device"
                            : direction == "d2h" ? " to host"
                                                 : " both ways";
  return largest_size_curve(kLink, way + where, std::move(figure));
}

CurveRule pieces_curve() {
  return {kLink, [](const CurveView& curve, Sentence& sentence) {
            const auto points = sweep(curve, "piece");
            if (points.size() < 2) return;
            const auto seconds = [](const CurvePoint& p) { return p.m->summary->median; };
            const CurvePoint &smallest = points.front(), &whole = points.back();
            sentence.add(fmt::format("{} to device at once in {}, in pieces of {} in {}",
                                     format_size(whole.x), format_time(seconds(whole)),
                                     format_size(smallest.x), format_time(seconds(smallest))));
            sentence.value("pieces_whole_s", seconds(whole));
            sentence.value("pieces_smallest_s", seconds(smallest));
            sentence.value("pieces_smallest_bytes", smallest.x);
          }};
}

CurveRule node_curve() {
  return {kLink, [](const CurveView& curve, Sentence& sentence) {
            std::vector<std::string> parts;
            for (const CurvePoint& point : sweep(curve, "node")) {
              const auto direction = text_param(point.m->params, "direction");
              if (!direction) continue;
              parts.push_back(fmt::format("node {:.0f} {} {}", point.x, *direction,
                                          format_rate(point.value(), "B/s")));
              sentence.value(fmt::format("node_{:.0f}_{}_bytes_per_s", point.x, *direction),
                             point.value());
            }
            if (!parts.empty()) sentence.add(fmt::format("{}", fmt::join(parts, ", ")));
          }};
}

CurveRule size_cost_curve(std::string label, std::string name) {
  return {kAllocation, [=](const CurveView& curve, Sentence& sentence) {
            const auto points = sweep(curve, "bytes");
            if (points.empty()) return;
            std::vector<std::string> parts;
            for (const CurvePoint* point : {&points.front(), &points.back()}) {
              if (!parts.empty() && points.size() == 1) break;
              parts.push_back(
                  fmt::format("{} in {}", format_size(point->x), format_time(point->value())));
              sentence.value(fmt::format("{}_{:.0f}_s", name, point->x), point->value());
            }
            sentence.add(fmt::format("{} {}", label, fmt::join(parts, ", ")));
          }};
}

CurveRule gib_cost_curve(std::string label, std::string name) {
  return {kAllocation, [=](const CurveView& curve, Sentence& sentence) {
            std::vector<std::string> parts;
            const auto add = [&](const std::vector<CurvePoint>& points, const std::string& pages) {
              if (points.empty()) return;
              const double per_gib = points.back().value() / points.back().x * kGiB;
              parts.push_back(format_time(per_gib) + " per GiB" +
                              (pages.empty() ? "" : " in " + pages + " pages"));
              sentence.value(name + (pages.empty() ? "" : "_" + pages + "_pages") + "_s_per_gib",
                             per_gib);
            };
            const auto kinds = values_of(curve, "pages");
            if (kinds.empty()) add(sweep(curve, "bytes"), "");
            for (const std::string& pages : kinds)
              add(sweep_where(curve, "bytes", "pages", pages), pages);
            sentence.add(fmt::format("{} {}", label, fmt::join(parts, ", ")));
          }};
}

}  // namespace peakline::bench

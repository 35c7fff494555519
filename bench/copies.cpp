#include "bench/copies.hpp"

#include "bench/pcie/ways.hpp"
#include "bench/question.hpp"

namespace peakline::bench {
namespace {

constexpr const char* kAllocation = "allocation";
// A size suffices from this share of the highest rate of all ways.
constexpr double kNear = 0.9;

std::vector<std::string> values_of(const CurveView& curve, std::string_view param) {
  std::vector<std::string> values;
  for (const Measurement* m : curve.points) {
    const auto value = text_param(m->params, param);
    if (value && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  }
  return values;
}

}  // namespace

std::string way_label(const std::string& way) {
  if (way == "plain") return "plain loads";
  if (way == "cp_async") return "cp.async";
  if (way == "tensor_1d") return "1D tensor";
  if (way == "tensor_2d") return "2D tensor";
  return way;
}

std::string copies_title(const TitleView& view) {
  // The ways are compared at the largest tile that plain loads copy.
  std::int64_t tile = 0;
  for (const Figure* plain : view.all({.name = "latency", .by = {{"way", "plain"}}}))
    tile = std::max(tile, *int_param(plain->by, "tile"));
  const Figure& best = view.least({.name = "latency", .by = {{"tile", tile}}});
  const double plain_s = view.value({.name = "latency", .by = {{"way", "plain"}, {"tile", tile}}});
  std::string text = fmt::format("Copying {} from the L2 takes {} with plain loads",
                                 format_size(static_cast<double>(tile)), format_time(plain_s));
  const std::string way = *text_param(best.by, "way");
  if (way != "plain")
    text += fmt::format(", {} with {}{}", format_time(best.value), way_label(way),
                        way == "cp_async" ? "" : " copies");
  return text;
}

CurveRule copy_rate_curve(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    double top = 0;
    for (const Measurement* m : curve.points) top = std::max(top, *m->value);
    std::vector<std::string> parts;
    std::map<double, std::vector<std::string>> enough_from;  // ways by size
    for (const std::string& way : values_of(curve, "way")) {
      const auto points = sweep_where(curve, "tile", "way", way);
      if (points.empty()) continue;
      const double best = std::ranges::max(points, {}, &CurvePoint::value).value();
      parts.push_back(fmt::format("{} {}", way_label(way), format_rate(best, "B/s")));
      sentence.figure("rate", best, {{"way", way}});
      const auto enough = std::ranges::find_if(
          points, [&](const CurvePoint& p) { return p.value() >= kNear * top; });
      if (enough == points.end()) continue;
      enough_from[enough->x].push_back(way_label(way));
      sentence.figure("enough_from", enough->x, {{"way", way}});
    }
    std::vector<std::string> sizes;
    for (const auto& [bytes, ways] : enough_from)
      sizes.push_back(fmt::format("{} ({})", format_size(bytes),
                                  enough_from.size() == 1 && ways.size() == parts.size()
                                      ? "all"
                                      : fmt::format("{}", fmt::join(ways, ", "))));
    std::string text = fmt::format("{}: {}", label, fmt::join(parts, ", "));
    if (!sizes.empty())
      text += fmt::format(", {:.0f} % of the best from {}", kNear * 100, fmt::join(sizes, ", "));
    sentence.add(std::move(text));
  };
  return {kToShared, {{"rate", "B/s", {"way"}}, {"enough_from", "B", {"way"}}}, summarize};
}

CurveRule copy_latency_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    std::map<double, std::vector<std::string>> by_tile;
    for (const CurvePoint& point : sweep(curve, "tile")) {
      const auto way = text_param(point.m->params, "way");
      if (!way) continue;
      by_tile[point.x].push_back(fmt::format("{} {}", way_label(*way), format_time(point.value())));
      sentence.figure("latency", point.value(), {{"way", *way}, {"tile", std::llround(point.x)}});
    }
    for (const auto& [tile, parts] : by_tile)
      sentence.add(fmt::format("one copy of {}: {}", format_size(tile), fmt::join(parts, ", ")));
  };
  return {kToShared, {{"latency", "s", {"way", "tile"}}}, summarize};
}

CurveRule link_way_curve(const std::string& memory, const std::string& direction) {
  const std::string way = memory == "write_combined" ? "write-combined" : memory;
  const std::string where = direction == "h2d"   ? " H2D"
                            : direction == "d2h" ? " D2H"
                                                 : " both ways";
  return largest_size_curve(kHostMemory, way + where);
}

CurveRule pageable_share_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "bytes");
    for (const CurvePoint& point : points) {
      if (point.x != static_cast<double>(pcie::kComparedBytes) && point.x != points.back().x)
        continue;
      const Measurement* pinned = curve.measurement(point_name("pcie.h2d.pinned", point.m->params));
      if (pinned == nullptr) continue;
      sentence.figure("share_of_pinned", point.value() / *pinned->value,
                      {{"bytes", std::llround(point.x)}});
    }
  };
  return {kHostMemory, {{"share_of_pinned", "1", {"bytes"}}}, summarize};
}

CurveRule compared_rate_curve(const std::string& memory, const std::string& direction) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    for (const CurvePoint& point : sweep(curve, "bytes"))
      if (point.x == static_cast<double>(pcie::kComparedBytes))
        sentence.figure("compared_rate", point.value(),
                        {{"memory", memory}, {"direction", direction}});
  };
  return {kHostMemory, {{"compared_rate", "B/s", {"memory", "direction"}}}, summarize};
}

CurveRule pieces_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "piece");
    if (points.size() < 2) return;
    const auto seconds = [](const CurvePoint& p) { return p.m->summary->median; };
    const CurvePoint &smallest = points.front(), &whole = points.back();
    sentence.add(fmt::format("{} H2D at once in {}, in pieces of {} in {}", format_size(whole.x),
                             format_time(seconds(whole)), format_size(smallest.x),
                             format_time(seconds(smallest))));
    sentence.figure("whole", seconds(whole));
    sentence.figure("in_pieces", seconds(smallest));
    sentence.figure("smallest_piece", smallest.x);
  };
  return {kHostMemory, {{"whole", "s"}, {"in_pieces", "s"}, {"smallest_piece", "B"}}, summarize};
}

CurveRule numa_curve() {
  const auto summarize = [](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    for (const CurvePoint& point : sweep(curve, "node")) {
      const auto direction = text_param(point.m->params, "direction");
      if (!direction) continue;
      parts.push_back(
          fmt::format("node {:.0f} {} {}", point.x, *direction, format_rate(point.value(), "B/s")));
      sentence.figure("rate", point.value(),
                      {{"node", std::llround(point.x)}, {"direction", *direction}});
    }
    if (!parts.empty()) sentence.add(fmt::format("{}", fmt::join(parts, ", ")));
  };
  return {kHostMemory, {{"rate", "B/s", {"node", "direction"}}}, summarize};
}

CurveRule size_cost_curve(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    const auto points = sweep(curve, "bytes");
    if (points.empty()) return;
    std::vector<std::string> parts;
    for (const CurvePoint* point : {&points.front(), &points.back()}) {
      if (!parts.empty() && points.size() == 1) break;
      parts.push_back(fmt::format("{} in {}", format_size(point->x), format_time(point->value())));
      sentence.figure("time", point->value(), {{"bytes", std::llround(point->x)}});
    }
    sentence.add(label, parts);
  };
  return {kAllocation, {{"time", "s", {"bytes"}}}, summarize};
}

CurveRule gib_cost_curve(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    const auto add = [&](const std::vector<CurvePoint>& points, const std::string& pages) {
      if (points.empty()) return;
      const double per_gib = points.back().value() / points.back().x * kGiB;
      parts.push_back(format_time(per_gib) + " per GiB" +
                      (pages.empty() ? "" : " in " + pages + " pages"));
      sentence.figure("time_per_gib", per_gib, pages.empty() ? Params{} : Params{{"pages", pages}});
    };
    const auto kinds = values_of(curve, "pages");
    if (kinds.empty()) add(sweep(curve, "bytes"), "");
    for (const std::string& pages : kinds) add(sweep_where(curve, "bytes", "pages", pages), pages);
    sentence.add(label, parts);
  };
  return {
      kHostMemory, {{"time_per_gib", "s/GiB"}, {"time_per_gib", "s/GiB", {"pages"}}}, summarize};
}

}  // namespace peakline::bench

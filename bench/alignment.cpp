// What do misaligned and strided reads cost, and how much does memory fetch at a time?

#include "bench/alignment.hpp"

#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {

void alignment_offset(CudaBench& bench);
void alignment_stride(CudaBench& bench);
void alignment_granularity(CudaBench& bench);

namespace {

constexpr const char* kTopic = "alignment";
constexpr std::int64_t kMaxStrideBytes = 256;

std::string alignment_title(const TitleView& view) {
  std::vector<std::string> offsets, strides;
  for (const std::int64_t width : {4, 16}) {
    const Figure& worst = view.least(
        {.id = "alignment.offset", .name = "share_of_aligned", .by = {{"width", width}}});
    offsets.push_back(fmt::format("{} ({} bytes)", format_percent(worst.value), width));
  }
  for (std::int64_t stride = 2; stride * 4 <= kMaxStrideBytes; stride *= 2)
    if (const Figure* share = view.find({.id = "alignment.stride",
                                         .name = "share_of_aligned",
                                         .by = {{"width", std::int64_t{4}}, {"stride", stride}}}))
      strides.push_back(fmt::format("{} ({})", format_percent(share->value), stride));
  if (strides.empty()) throw Missing();
  return fmt::format(
      "Misaligned accesses keep at least {} of the bandwidth; 4-byte accesses with a stride {}",
      fmt::join(offsets, ", "), fmt::join(strides, ", "));
}

Picture alignment_picture() {
  const auto panel = [](const char* id, const char* param, const char* label, Scale scale,
                        const char* against) -> Panel {
    return {.over = param,
            .x = {.label = label, .written = Written::kInteger, .scale = scale},
            .y = percent_axis(against, 105),
            .series = {{"{} bytes", {.id = id, .figure = "share_of_aligned"}, "width"}}};
  };
  return {
      .key = "alignment",
      .subject = "Alignment: offset and stride",
      .how =
          "100 % is the same access, of one width per thread, aligned and contiguous; a stride "
          "counts elements of that width. Only what the kernel asked for counts, not what the "
          "hardware moved on top of it. Fetched is what memory moves at a time for one element, "
          "by the limit that the driver was given (cudaLimitMaxL2FetchGranularity) or by none.",
      .panels = {panel("alignment.offset", "offset", "offset, bytes", Scale::kLinear,
                       "% of the bandwidth of aligned access"),
                 panel("alignment.stride", "stride", "stride, elements", Scale::kLog2,
                       "% of the bandwidth of contiguous access")}};
}

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

// Shares of the rate at `aligned` with the same width, and the lowest of them.
CurveRule worst_share(const std::string& param, std::int64_t aligned, const FigureUnit& unit) {
  const auto summarize = [=](const CurveView& curve, Figures& figures) {
    const auto points = sweep(curve, param);
    Share worst;
    for (const Share& share : shares_of_aligned(points, static_cast<double>(aligned))) {
      if (const auto width = int_param(share.point->m->params, "width"))
        figures.add("share_of_aligned", share.share,
                    {{"width", *width}, {param, std::llround(share.point->x)}});
      if (share.point->x == static_cast<double>(aligned)) continue;
      if (worst.point == nullptr || share.share < worst.share) worst = share;
    }
    if (worst.point == nullptr) return;
    figures.add("worst_at", worst.point->x);
    figures.add("worst_share", worst.share);
  };
  return {kTopic,
          {{"share_of_aligned", unit::kShare, {"width", param}},
           {"worst_at", unit},
           {"worst_share", unit::kShare}},
          summarize};
}

// Rate ratio of a doubled stride: 0.5 while elements share a fetch, 1 when each has its own.
constexpr double kSharesFetch = 0.65;

// The distance from which elements no longer share a fetch; nullopt if the strides do not show it.
// points: of one width.
std::optional<double> fetch_bytes(const std::vector<CurvePoint>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].x != 2 * points[i - 1].x) return std::nullopt;
    if (points[i].value() < kSharesFetch * points[i - 1].value()) continue;
    if (i == 1) return std::nullopt;  // perhaps not before either
    return points[i - 1].x * static_cast<double>(*int_param(points[i].m->params, "width"));
  }
  return std::nullopt;
}

// The bytes fetched at a time, from reads of "width" bytes: doubling the "stride" halves the rate
// until elements no longer share a fetch. Nothing if that is not seen.
void summarize_fetches(const CurveView& curve, Figures& figures) {
  // By limit (0: none) and width.
  std::map<std::int64_t, std::map<std::int64_t, std::vector<CurvePoint>>> sweeps;
  for (const CurvePoint& point : sweep(curve, "stride"))
    if (const auto width = int_param(point.m->params, "width"))
      sweeps[int_param(point.m->params, "limit").value_or(0)][*width].push_back(point);
  for (const auto& [limit, by_width] : sweeps) {
    std::vector<double> found;
    for (const auto& [width, points] : by_width)
      if (const auto bytes = fetch_bytes(points)) found.push_back(*bytes);
    if (!found.empty())
      figures.add("fetched", median(found),
                  limit > 0 ? Params{{"limit", limit}} : Params{{"level", "hbm"}});
  }
}

CurveRule fetched() {
  return {kTopic,
          {{"fetched", "B", {"level"}, role::kLine}, {"fetched", "B", {"limit"}}},
          summarize_fetches};
}

}  // namespace

void register_alignment(Registry& registry) {
  constexpr double kSeconds = 0.06;
  std::vector<Point> offsets, strides;
  for (const std::int64_t width : {4, 8, 16}) {
    std::set<std::int64_t> bytes = {0, width};
    for (std::int64_t at = 16; at <= kMostAlignmentOffset; at += 16) bytes.insert(at);
    std::ranges::move(
        points_over({{"width", {width}}, {"offset", values_of(bytes)}}, {.seconds = kSeconds}),
        std::back_inserter(offsets));
    for (std::int64_t elements = 1; elements * width <= kMaxStrideBytes; elements *= 2)
      strides.push_back({.params = {{"width", width}, {"stride", elements}},
                         .seconds = kSeconds + 0.002 * static_cast<double>(elements)});
  }
  const auto add = [&](Benchmark benchmark, Run run) {
    benchmark.quantity = Quantity::kByteRate;
    benchmark.limit = device_memory_bandwidth();
    registry.add(std::move(benchmark), std::move(run));
  };
  constexpr const char* kUseful = "useful bytes read, not the sectors fetched for them";
  add({.id = "alignment.offset",
       .what = "Bandwidth of contiguous reads, by offset from a line boundary",
       .work = "useful bytes read",
       .method_version = 3,  // v2 searched the shape for aligned reads alone
       .curves = {worst_share("offset", 0, "B")},
       .topics = {{kTopic, alignment_title, alignment_picture()}},
       .points = std::move(offsets)},
      on_gpu([](auto& bench) { alignment_offset(bench); }));
  add({.id = "alignment.stride",
       .what = "Bandwidth of strided reads, by stride",
       .work = kUseful,
       .method_version = 3,  // as offset
       .curves = {worst_share("stride", 1, unit::kCount), fetched()},
       .points = std::move(strides)},
      on_gpu([](auto& bench) { alignment_stride(bench); }));
  add({.id = "alignment.granularity",
       .what = "Bandwidth of strided 4-byte reads, by the limit on what the L2 fetches at a time",
       .work = kUseful,
       .method_version = 2,  // v1 searched the shape for aligned reads alone
       .curves = {fetched()},
       .points =
           points_over({{"width", {4}}, {"limit", {32, 64, 128}}, {"stride", {4, 8, 16, 32, 64}}},
                       {.seconds = kSeconds})},
      on_gpu([](auto& bench) { alignment_granularity(bench); }));
}

}  // namespace peakline::bench

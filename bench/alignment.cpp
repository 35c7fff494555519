// What do misaligned and strided reads cost, and how much does memory fetch at a time?

#include "bench/alignment.hpp"

#include "bench/question.hpp"

namespace peakline::bench {

void alignment_offset(CudaBench& bench);
void alignment_stride(CudaBench& bench);
void alignment_granularity(CudaBench& bench);

namespace {

constexpr const char* kTopic = "alignment";
constexpr std::int64_t kMaxStrideBytes = 256;

std::string alignment_title(const TitleView& view) {
  const Figure& offset = view.least({.id = "alignment.offset", .name = "share"});
  const auto width = *find_param(offset.by, "width");
  const Figure& stride =
      view.least({.id = "alignment.stride", .name = "share", .by = {{"width", width}}});
  return fmt::format(
      "An offset of {} leaves {} of the bandwidth of {}-byte accesses, a stride of {} elements {}",
      format_size(static_cast<double>(*int_param(offset.by, "offset"))),
      format_percent(offset.value), to_string(width), to_string(*find_param(stride.by, "stride")),
      format_percent(stride.value));
}

Picture alignment_picture() {
  const auto panel = [](const char* id, const char* param, const char* label, Scale scale,
                        const char* against) -> Panel {
    return {.over = param,
            .x = {.label = label, .written = Written::kInteger, .scale = scale},
            .y = percent_axis(against, 105),
            .series = {{"{} bytes", {.id = id, .figure = "share"}, "width"}}};
  };
  return {.key = "alignment",
          .subject = "Alignment: offset and stride",
          .how =
              "Each line is one access width; 100 % is the same access aligned and contiguous. "
              "Only what the kernel asked for counts, not what the hardware moved on top of it.",
          .panels = {panel("alignment.offset", "offset", "offset, bytes", Scale::kLinear,
                           "% of the bandwidth of aligned access"),
                     panel("alignment.stride", "stride", "stride, elements", Scale::kLog2,
                           "% of the bandwidth of contiguous access")}};
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
  const auto add = [&](const char* id, const char* what, const char* work, int method_version,
                       std::vector<CurveRule> curves, std::vector<Point> points, Run run,
                       std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .method_version = method_version,
                  .limit = device_memory_bandwidth(),
                  .curves = std::move(curves),
                  .topics = std::move(topics),
                  .points = std::move(points)},
                 std::move(run));
  };
  constexpr const char* kUseful = "useful bytes read, not the sectors fetched for them";
  add("alignment.offset", "Bandwidth of contiguous reads, by offset from a line boundary",
      "useful bytes read", 3,  // v2 searched the shape for aligned reads only
      {worst_share_curve(kTopic, "offset", 0, " B", "aligned")}, std::move(offsets),
      on_gpu([](auto& bench) { alignment_offset(bench); }),
      {{kTopic, alignment_title, alignment_picture()}});
  add("alignment.stride", "Bandwidth of strided reads, by stride", kUseful, 3,  // as offset
      {worst_share_curve(kTopic, "stride", 1, " elements", "contiguous"), fetch_curve(kTopic)},
      std::move(strides), on_gpu([](auto& bench) { alignment_stride(bench); }));
  add("alignment.granularity",
      "Bandwidth of strided 4-byte reads, by the limit on what the L2 fetches at a time", kUseful,
      2,  // v1 searched the shape for aligned reads only
      {fetch_curve(kTopic)},
      points_over({{"width", {4}}, {"limit", {32, 64, 128}}, {"stride", {4, 8, 16, 32, 64}}},
                  {.seconds = kSeconds}),
      on_gpu([](auto& bench) { alignment_granularity(bench); }));
}

}  // namespace peakline::bench

// What do misaligned and strided reads cost, and how much does memory fetch at a time?

#include "bench/alignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "harness/benchmark/registry.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

void alignment_offset(CudaBench& bench);
void alignment_stride(CudaBench& bench);
void alignment_granularity(CudaBench& bench);

namespace {

constexpr const char* kTopic = "alignment";
constexpr std::int64_t kMaxStrideBytes = 256;

// What the worst offset leaves of the bandwidth, and the worst stride of the same width.
std::string alignment_title(const TitleView& view) {
  const auto worst = [&](const char* id, Params by) -> const Figure& {
    const auto shares = view.all({.id = id, .name = "share", .by = std::move(by)});
    return **std::ranges::min_element(shares, {}, [](const Figure* f) { return f->value; });
  };
  const Figure& offset = worst("alignment.offset", {});
  const auto width = *find_param(offset.by, "width");
  const Figure& stride = worst("alignment.stride", {{"width", width}});
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
            .y = {.label = against, .per = 0.01, .low = 0, .high = 105},
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

Point point(Params params, double seconds) {
  return {.params = std::move(params),
          .phase = Phase::kDevice,
          .rule = Rule::kCurve,
          .seconds = seconds};
}

}  // namespace

void register_alignment(Registry& registry) {
  Benchmark offset{.id = "alignment.offset",
                   .what = "Bandwidth of contiguous reads, by offset from a line boundary",
                   .work = "useful bytes read",
                   .quantity = Quantity::kByteRate,
                   .method_version = 3,  // 2 searched the shape for aligned reads alone
                   .limit = device_memory_bandwidth(),
                   .curves = {worst_share_curve(kTopic, "offset", 0, " B", "aligned")},
                   .topics = {{kTopic, alignment_title, alignment_picture()}},
                   .points = {}};
  Benchmark stride{.id = "alignment.stride",
                   .what = "Bandwidth of strided reads, by stride",
                   .work = "useful bytes read, not the sectors fetched for them",
                   .quantity = Quantity::kByteRate,
                   .method_version = 3,
                   .limit = device_memory_bandwidth(),
                   .curves = {worst_share_curve(kTopic, "stride", 1, " elements", "contiguous"),
                              fetch_curve(kTopic)},
                   .points = {}};
  Benchmark granularity{
      .id = "alignment.granularity",
      .what = "Bandwidth of strided 4-byte reads, by the limit on what the L2 fetches at a time",
      .work = "useful bytes read, not the sectors fetched for them",
      .quantity = Quantity::kByteRate,
      .method_version = 2,  // 1 searched the shape for aligned reads alone
      .limit = device_memory_bandwidth(),
      .curves = {fetch_curve(kTopic)},
      .points = {}};
  for (const std::int64_t width : {4, 8, 16}) {
    std::set<std::int64_t> offsets = {0, width};
    for (std::int64_t bytes = 16; bytes <= kMostAlignmentOffset; bytes += 16) offsets.insert(bytes);
    for (const std::int64_t bytes : offsets)
      offset.points.push_back(point({{"width", width}, {"offset", bytes}}, 0.06));
    for (std::int64_t elements = 1; elements * width <= kMaxStrideBytes; elements *= 2)
      stride.points.push_back(point({{"width", width}, {"stride", elements}},
                                    0.06 + 0.002 * static_cast<double>(elements)));
  }
  for (const std::int64_t limit : {32, 64, 128})
    for (const std::int64_t elements : {4, 8, 16, 32, 64})
      granularity.points.push_back(
          point({{"width", 4}, {"limit", limit}, {"stride", elements}}, 0.06));
  registry.add(std::move(offset), on_gpu([](auto& bench) { alignment_offset(bench); }));
  registry.add(std::move(stride), on_gpu([](auto& bench) { alignment_stride(bench); }));
  registry.add(std::move(granularity), on_gpu([](auto& bench) { alignment_granularity(bench); }));
}

}  // namespace peakline::bench

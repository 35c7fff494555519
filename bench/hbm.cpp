// How fast is device memory? Each access pattern, by access width and footprint.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/node_curves.hpp"
#include "bench/pairs.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/conclude/curves.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

void hbm_read(CudaBench& bench);
void hbm_write(CudaBench& bench);
void hbm_copy(CudaBench& bench);
void hbm_triad(CudaBench& bench);
void hbm_memcpy(CudaBench& bench);
void hbm_memset(CudaBench& bench);

namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
// Total size of all arrays. The smallest still exceeds most L2s, and its time shows what a launch
// costs.
constexpr std::array<std::size_t, 6> kFootprints{kGiB / 4, kGiB / 2, kGiB,
                                                 2 * kGiB, 4 * kGiB, 8 * kGiB};
// The footprint of the ceilings: the start and end of a launch are below 0.2 % of its time.
constexpr std::size_t kCeilingFootprint = 8 * kGiB;
// 2: 8 GiB, a tile per block.
constexpr int kMethod = 2;

std::vector<Point> pattern_points() {
  std::vector<Point> points;
  for (const std::int64_t width : {16, 8, 4})
    for (const std::size_t bytes : kFootprints) {
      const bool ceiling = bytes == kCeilingFootprint;
      // How the rate grows with the footprint is a matter of the memory, not of the width.
      if (!ceiling && width != 16) continue;
      points.push_back({.params = {{"width", width}, {"bytes", static_cast<std::int64_t>(bytes)}},
                        .phase = Phase::kDevice,
                        .rule = ceiling ? Rule::kFull : Rule::kCurve,
                        .quick = ceiling && width == 16,
                        .seconds = ceiling ? 0.5 : 0.12});
    }
  points.push_back({.params = {{"width", std::int64_t{16}}, {"footprint", "memory"}},
                    .phase = Phase::kDevice,
                    .seconds = 0.6});
  return points;
}

std::vector<Point> copy_points() {
  std::vector<Point> points;
  for (const std::size_t bytes : kFootprints)
    points.push_back({.params = {{"bytes", static_cast<std::int64_t>(bytes)}},
                      .phase = Phase::kDevice,
                      .rule = bytes == kCeilingFootprint ? Rule::kFull : Rule::kCurve,
                      .quick = false,
                      .seconds = bytes == kCeilingFootprint ? 0.3 : 0.1});
  return points;
}

constexpr const char* kBySize = "HBM by size";

std::string hbm_title(const TitleView& view) {
  const Ceiling& read = view.ceiling("hbm.read", Basis::kMeasured);
  const double theory = view.ceiling("hbm.read", Basis::kTheoretical).value;
  return fmt::format("HBM read: {}, {} of theoretical", format_rate(read.value, "B/s"),
                     format_percent(read.value / theory));
}

Picture hbm_picture() {
  std::vector<PictureSeries> patterns, sizes;
  for (const std::string name : {"read", "write", "copy", "triad", "memcpy", "memset"}) {
    const std::string id = "hbm." + name;
    const bool driver = name.starts_with("mem");
    patterns.push_back(
        {name, {.id = id, .where = {{"bytes", static_cast<std::int64_t>(kCeilingFootprint)}}}});
    sizes.push_back({name, {.id = id, .where = driver ? Params{} : Params{{"width", 16}}}});
  }
  return {.key = "hbm",
          .subject = "Device memory: patterns and widths",
          .how =
              "Each row is one access pattern, each mark one access width; the dashed line is "
              "what clock and bus width allow. cudaMemcpy and cudaMemset choose their width "
              "themselves. A copy counts the bytes it reads and the bytes it writes.",
          .panels = {
              {.kind = PanelKind::kDots,
               .by = "width",
               .x = {.label = "GB/s, read + written, by access width", .per = 1e9},
               .series = std::move(patterns),
               .marks = {{.label = "theoretical", .resource = "hbm.read", .basis = "theoretical"}},
               .names =
                   {{"4", "4 bytes"}, {"8", "8 bytes"}, {"16", "16 bytes"}, {"", "by the driver"}}},
              {.over = "bytes",
               .x = {.label = "footprint", .written = Written::kSize, .scale = Scale::kLog2},
               .y = {.label = "GB/s, widest access", .per = 1e9},
               .series = std::move(sizes),
               .naming = Naming::kEndsWithValue}}};
}

}  // namespace

void register_hbm(Registry& registry, const std::vector<int>& gpus) {
  const auto ceiling = [](const char* id) -> CeilingRule {
    return {.resource = resource(id), .counts = at_least("bytes", kCeilingFootprintBytes)};
  };
  const auto by_size = [](const char* name) { return footprint_curve(kBySize, name); };
  const auto add = [&](const char* id, const char* what, const char* work, Run run,
                       std::vector<CurveRule> curves, std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .method_version = kMethod,
                  .limit = device_memory_bandwidth(),
                  .ceilings = {ceiling(id)},
                  .curves = std::move(curves),
                  .topics = std::move(topics),
                  .points = pattern_points()},
                 std::move(run));
  };
  add("hbm.read", "Device memory read bandwidth, by access width and footprint", "bytes read",
      on_gpu([](auto& bench) { hbm_read(bench); }), {width_curve("HBM read"), by_size("read")},
      {{kBySize, hbm_title, hbm_picture()}});
  add("hbm.write", "Device memory write bandwidth, by access width and footprint", "bytes written",
      on_gpu([](auto& bench) { hbm_write(bench); }), {by_size("write")});
  add("hbm.copy", "Device memory copy bandwidth of a kernel, by access width and footprint",
      "bytes read plus bytes written", on_gpu([](auto& bench) { hbm_copy(bench); }),
      {by_size("copy")});
  add("hbm.triad",
      "Device memory bandwidth of a = b + s * c in FP32, by access width and footprint",
      "bytes read (b, c) plus bytes written (a)", on_gpu([](auto& bench) { hbm_triad(bench); }),
      {by_size("triad")});
  registry.add({.id = "hbm.memcpy",
                .what = "Bandwidth of cudaMemcpyAsync within device memory, by footprint",
                .work = "bytes read plus bytes written",
                .quantity = Quantity::kByteRate,
                .method_version = kMethod,
                .limit = device_memory_bandwidth(),
                .ceilings = {ceiling("hbm.memcpy")},
                .points = copy_points()},
               on_gpu([](auto& bench) { hbm_memcpy(bench); }));
  registry.add({.id = "hbm.memset",
                .what = "Bandwidth of cudaMemsetAsync, by footprint",
                .work = "bytes written",
                .quantity = Quantity::kByteRate,
                .method_version = kMethod,
                .limit = device_memory_bandwidth(),
                .ceilings = {ceiling("hbm.memset")},
                .points = copy_points()},
               on_gpu([](auto& bench) { hbm_memset(bench); }));
  registry.add({.id = "hbm.concurrent",
                .what = "Device memory read bandwidth of each GPU alone and of all at once",
                .work = "bytes read by one GPU",
                .quantity = Quantity::kByteRate,
                .limit = device_memory_bandwidth(),
                .curves = {concurrent_curve("GPUs at once", "memory reads", Quantity::kByteRate)},
                .points = concurrent_points(
                    gpus, {.params = {{"width", std::int64_t{16}},
                                      {"bytes", static_cast<std::int64_t>(kCeilingFootprint)}},
                           .phase = Phase::kNodeLoad,
                           .rule = Rule::kFull,
                           .seconds = 0.5})},
               on_gpu([](auto& bench) { hbm_read(bench); }));
}

}  // namespace peakline::bench

// How long does one load take? At each level of the memory, by footprint and from the host.

#include "harness/conclude/latency.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/pipeline.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

void latency_shared(CudaBench& bench);
void latency_dsmem(CudaBench& bench);
// bytes: of a footprint, over lines in random order, through all caches.
void latency_within(CudaBench& bench, std::uint64_t bytes);
void latency_sweep(CudaBench& bench);
void latency_l2(CudaBench& bench);
void latency_pcie(CudaBench& bench);
void latency_stride_past_l1(CudaBench& bench);
void latency_stride_past_l2(CudaBench& bench);

namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
// Far inside the L1 of any device.
constexpr std::uint64_t kL1Bytes = 16 * kKiB;
// Many times any L2, of which a walk that visits each line once finds nothing.
constexpr std::uint64_t kHbmBytes = kGiB;
constexpr std::int64_t kMostStride = 512;

// Footprints of the sweep: closer where caches end.
std::vector<std::uint64_t> footprints() {
  struct Range {
    std::uint64_t from, to;
    int an_octave;
  };
  constexpr std::array<Range, 6> kRanges{{{kKiB, 64 * kKiB, 1},
                                          {64 * kKiB, 512 * kKiB, 4},
                                          {512 * kKiB, 8 * kMiB, 1},
                                          {8 * kMiB, 256 * kMiB, 4},
                                          {256 * kMiB, kGiB, 1},
                                          {kGiB, 128 * kGiB, 2}}};
  std::vector<std::uint64_t> all;
  for (const Range& range : kRanges)
    for (std::uint64_t octave = range.from; octave < range.to; octave *= 2)
      for (int i = 0; i < range.an_octave; ++i)
        all.push_back(octave + octave / range.an_octave * i);
  all.push_back(kRanges.back().to);
  return all;
}

Point point(Params params, Phase phase, Rule rule, bool quick = false) {
  return {.params = std::move(params),
          .phase = phase,
          .rule = rule,
          .quick = quick,
          .seconds = rule == Rule::kFull ? 0.4 : 0.03};
}

std::string latency_title(const TitleView& view) {
  const Params near = {{"level", "l2"}, {"part", "near"}};
  return fmt::format("A load takes {} from device memory, {} from the near part of the L2",
                     format_time(view.value({.role = role::kLatency, .by = {{"level", "hbm"}}})),
                     format_time(view.value({.role = role::kLatency, .by = near})));
}

std::string memory_map_title(const TitleView& view) {
  const auto latency = [&](const char* id) {
    const Measurement* m = view.measurement(id);
    if (m == nullptr) throw Missing();
    return *m->value;
  };
  const auto rate = [&](const char* resource) {
    return view.ceiling(resource, Basis::kMeasured).value;
  };
  return fmt::format("From L1 to device memory, latency grows {} x, bandwidth falls {} x",
                     format_number(latency("latency.hbm") / latency("latency.l1")),
                     format_number(rate("l1.read") / rate("hbm.read")));
}

Picture latency_picture() {
  const auto level = [](const char* label, const char* id, Params part = {}) -> Mark {
    return {.label = label,
            .figure = Numbers{.id = id, .figure = "latency", .where = std::move(part)}};
  };
  return {.key = "latency",
          .subject = "Latency: how long a load takes, by footprint",
          .how =
              "Left, one load at a time over lines in random order: each step is a level that no "
              "longer holds the footprint, and a last one the TLB. Dashed lines are the levels "
              "measured by themselves. Right, sectors of 32 bytes read at random by all SMs.",
          .panels = {{.over = "bytes",
                      .x = {.label = "footprint", .written = Written::kSize, .scale = Scale::kLog2},
                      .y = {.label = "latency", .written = Written::kTime, .scale = Scale::kLog10},
                      .series = {{"", {.id = "latency.sweep"}}},
                      .marks = {level("L1", "latency.l1"),
                                level("L2, near part", "latency.l2", {{"part", "near"}}),
                                level("L2, far part", "latency.l2", {{"part", "far"}}),
                                level("memory", "latency.hbm")},
                      .naming = Naming::kEndsWithValue},
                     {.over = "bytes",
                      .x = {.label = "footprint", .written = Written::kSize, .scale = Scale::kLog2},
                      .y = {.label = "GB/s of random sectors", .per = 1e9, .low = 0},
                      .series = {{"", {.id = "random.gather"}}}}}};
}

}  // namespace

void register_latency(Registry& registry) {
  const Limit none = no_limit("a time has no upper limit");
  constexpr const char* kWork = "seconds of one load, each of which waits for the one before";
  const auto add = [&](const char* id, const char* what, Loads loads, std::vector<CurveRule> curves,
                       std::vector<Point> points, Run run, std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = kWork,
                  .quantity = Quantity::kTime,
                  .loads = loads,
                  .limit = none,
                  .curves = std::move(curves),
                  .topics = std::move(topics),
                  .points = std::move(points)},
                 std::move(run));
  };
  const auto one = [](Phase phase, bool quick = false) {
    return std::vector{point({}, phase, Rule::kFull, quick)};
  };
  add("latency.shared", "Latency of shared memory", Loads::kMemory,
      {latency_curve("shared", "shared")}, one(Phase::kDevice),
      on_gpu([](auto& bench) { latency_shared(bench); }));
  std::vector<Point> clusters;
  for (const std::int64_t blocks : {2, 4, 8, 16})
    clusters.push_back(point({{"blocks", blocks}}, Phase::kDevice, Rule::kCurve));
  add("latency.dsmem", "Latency of the next block's shared memory, by blocks in a cluster",
      Loads::kMemory,
      {waits_curve("another block's shared memory in a cluster of", "blocks", kMemoryLatency)},
      std::move(clusters), on_gpu([](auto& bench) { latency_dsmem(bench); }));
  add("latency.l1", "Latency of the L1 cache", Loads::kMemory, {latency_curve("L1", "l1")},
      one(Phase::kDevice), on_gpu([](auto& bench) { latency_within(bench, kL1Bytes); }));
  std::vector<Point> parts;
  for (const char* part : {"near", "far"})
    parts.push_back(point({{"part", part}}, Phase::kDevice, Rule::kFull));
  add("latency.l2", "Latency of the L2 cache: the part near to an SM, and what lies beyond it",
      Loads::kMemory, {latency_curve("L2", "l2")}, std::move(parts),
      on_gpu([](auto& bench) { latency_l2(bench); }));
  add("latency.hbm", "Latency of device memory, within 1 GiB", Loads::kMemory,
      {latency_curve("HBM", "hbm")}, one(Phase::kDevice),
      on_gpu([](auto& bench) { latency_within(bench, kHbmBytes); }),
      {{kMemoryLatency, latency_title, latency_picture()}, {"memory map", memory_map_title}});
  add("latency.pcie", "Latency of host memory, read by the device over the link", Loads::kLink,
      {latency_curve("host memory", "host")}, one(Phase::kLink),
      on_gpu([](auto& bench) { latency_pcie(bench); }));
  std::vector<Point> sweep;
  for (const std::uint64_t bytes : footprints())
    sweep.push_back(
        point({{"bytes", static_cast<std::int64_t>(bytes)}}, Phase::kDevice, Rule::kCurve));
  add("latency.sweep", "Latency of lines in random order, by footprint", Loads::kMemory,
      {latency_steps_curve()}, std::move(sweep), on_gpu([](auto& bench) { latency_sweep(bench); }));
  const auto strides = [](std::vector<const char*> orders, std::int64_t least) {
    std::vector<Point> points;
    for (const char* order : orders)
      for (std::int64_t stride = kMostStride; stride >= least; stride /= 2)
        points.push_back(
            point({{"order", order}, {"stride", stride}}, Phase::kDevice, Rule::kCurve));
    return points;
  };
  add("latency.stride", "Latency in a footprint beyond the L1, by stride and order", Loads::kMemory,
      {line_size_curve("L1", "l1")}, strides({"random", "sequential"}, 8),
      on_gpu([](auto& bench) { latency_stride_past_l1(bench); }));
  // In order of address the device memory's granularity would show, which alignment.* measures.
  add("latency.stride.l2", "Latency in a footprint beyond the L2, by stride", Loads::kMemory,
      {line_size_curve("L2", "l2")}, strides({"random"}, 32),
      on_gpu([](auto& bench) { latency_stride_past_l2(bench); }));
}

}  // namespace peakline::bench

// How long does one load take, at each level of memory?

#include "harness/conclude/latency.hpp"

#include "bench/pipeline.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void latency_shared(CudaBench& bench);
void latency_dsmem(CudaBench& bench);
// bytes: footprint of lines in random order, through all caches.
void latency_within(CudaBench& bench, std::uint64_t bytes);
void latency_sweep(CudaBench& bench);
void latency_l2(CudaBench& bench);
void latency_pcie(CudaBench& bench);
void latency_stride_past_l1(CudaBench& bench);
void latency_stride_past_l2(CudaBench& bench);

namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
// Far inside the L1 of any device.
constexpr std::int64_t kL1Bytes = 16 * kKiB;
// Many times any L2: a walk that visits each line once never hits.
constexpr std::int64_t kHbmBytes = kGiB;

// Footprints of the sweep, denser where caches end.
std::vector<ParamValue> footprints() {
  struct Range {
    std::int64_t from, to, an_octave;
  };
  constexpr std::array<Range, 6> kRanges{{{kKiB, 64 * kKiB, 1},
                                          {64 * kKiB, 512 * kKiB, 4},
                                          {512 * kKiB, 8 * kMiB, 1},
                                          {8 * kMiB, 256 * kMiB, 4},
                                          {256 * kMiB, kGiB, 1},
                                          {kGiB, 128 * kGiB, 2}}};
  std::vector<ParamValue> all;
  for (const Range& range : kRanges)
    for (std::int64_t octave = range.from; octave < range.to; octave *= 2)
      for (std::int64_t i = 0; i < range.an_octave; ++i)
        all.emplace_back(octave + octave / range.an_octave * i);
  all.emplace_back(kRanges.back().to);
  return all;
}

std::string latency_title(const TitleView& view) {
  const Params near = {{"level", "l2"}, {"part", "near"}};
  return fmt::format("A load takes {} from device memory, {} from the near part of the L2",
                     view.text({.role = role::kLatency, .by = {{"level", "hbm"}}}),
                     view.text({.role = role::kLatency, .by = near}));
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
    return {.label = label, .figure = Numbers{id, "latency", std::move(part)}};
  };
  return {.key = "latency",
          .subject = "Latency: how long a load takes, by footprint",
          .how =
              "Left, one load at a time over lines in random order: each step is a level that no "
              "longer holds the footprint, and a last one the TLB. Dashed lines are the levels "
              "measured by themselves. Right, sectors of 32 bytes read at random by all SMs.",
          .panels = {{.over = "bytes",
                      .x = size_axis("footprint"),
                      .y = {.label = "latency", .written = Written::kTime, .scale = Scale::kLog10},
                      .series = {{"", {.id = "latency.sweep"}}},
                      .marks = {level("L1", "latency.l1"),
                                level("L2, near part", "latency.l2", {{"part", "near"}}),
                                level("L2, far part", "latency.l2", {{"part", "far"}}),
                                level("memory", "latency.hbm")},
                      .naming = Naming::kEndsWithValue},
                     {.over = "bytes",
                      .x = size_axis("footprint"),
                      .y = {.label = "GB/s of random sectors", .per = 1e9, .low = 0},
                      .series = {{"", {.id = "random.gather"}}}}}};
}

}  // namespace

void register_latency(Registry& registry) {
  const Point one{.rule = Rule::kFull, .seconds = 0.4}, brief{.seconds = 0.03};
  const auto add = [&](const char* id, const char* what, CurveRule curve, std::vector<Point> points,
                       Run run, Loads loads = Loads::kMemory, std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = "seconds of one load, each of which waits for the one before",
                  .loads = loads,
                  .curves = {std::move(curve)},
                  .topics = std::move(topics),
                  .points = std::move(points)},
                 std::move(run));
  };
  add("latency.shared", "Latency of shared memory", latency_curve("shared", "shared"), {one},
      on_gpu([](auto& bench) { latency_shared(bench); }));
  add("latency.dsmem", "Latency of the next block's shared memory, by blocks in a cluster",
      waits_curve("another block's shared memory in a cluster of", "blocks", kMemoryLatency),
      points_over("blocks", {2, 4, 8, 16}, brief),
      on_gpu([](auto& bench) { latency_dsmem(bench); }));
  add("latency.l1", "Latency of the L1 cache", latency_curve("L1", "l1"), {one},
      on_gpu([](auto& bench) { latency_within(bench, kL1Bytes); }));
  add("latency.l2", "Latency of the L2 cache: the part near to an SM, and what lies beyond it",
      latency_curve("L2", "l2"), points_over("part", {"near", "far"}, one),
      on_gpu([](auto& bench) { latency_l2(bench); }));
  add("latency.hbm", "Latency of device memory, within 1 GiB", latency_curve("", "hbm"), {one},
      on_gpu([](auto& bench) { latency_within(bench, kHbmBytes); }), Loads::kMemory,
      {{kMemoryLatency, latency_title, latency_picture()}, {"memory map", memory_map_title}});
  add("latency.pcie", "Latency of host memory, read by the device over the link",
      latency_curve("host memory", "host"),
      {{.phase = Phase::kLink, .rule = Rule::kFull, .seconds = 0.4}},
      on_gpu([](auto& bench) { latency_pcie(bench); }), Loads::kLink);
  add("latency.sweep", "Latency of lines in random order, by footprint", latency_steps_curve(),
      points_over("bytes", footprints(), brief), on_gpu([](auto& bench) { latency_sweep(bench); }));
  add("latency.stride", "Latency in a footprint beyond the L1, by stride and order",
      line_size_curve("L1", "l1"),
      points_over({{"order", {"random", "sequential"}}, {"stride", {512, 256, 128, 64, 32, 16, 8}}},
                  brief),
      on_gpu([](auto& bench) { latency_stride_past_l1(bench); }));
  // Address order would show the granularity of device memory, which alignment.* measures.
  add("latency.stride.l2", "Latency in a footprint beyond the L2, by stride",
      line_size_curve("L2", "l2"),
      points_over({{"order", {"random"}}, {"stride", {512, 256, 128, 64, 32}}}, brief),
      on_gpu([](auto& bench) { latency_stride_past_l2(bench); }));
}

}  // namespace peakline::bench

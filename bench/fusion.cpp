// What does fusing element-wise steps save? Memory traffic for large arrays, launches for small.

#include "bench/pipeline.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void fusion_chain(CudaBench& bench);
void fusion_small(CudaBench& bench);

namespace {

constexpr const char* kTopic = "fusion";
constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::array<std::int64_t, 3> kSteps{2, 4, 8};
constexpr std::array kSmallBytes = {64 * kKiB, 4 * kMiB, 16 * kMiB};

std::string fusion_title(const TitleView& view) {
  const Figure& saving = *view.all({.name = "saving"}).back();
  const std::int64_t smallest = kSmallBytes.front();
  const auto time = [&](const char* kernels) {
    return view.value({.name = "time", .by = {{"kernels", kernels}, {"bytes", smallest}}});
  };
  return fmt::format(
      "Fusing {} steps saves {} of the time; on arrays of {}, fusing four runs {} x as fast",
      to_string(*find_param(saving.by, "steps")), format_percent(saving.value),
      format_size(static_cast<double>(smallest)), format_number(time("separate") / time("fused")));
}

Picture fusion_picture() {
  return {
      .key = "fusion",
      .subject = "Fusion: several element-wise steps in one kernel",
      .how =
          "Each step adds another array to the sum. With large arrays a single kernel saves the "
          "traffic of the intermediate sums; with small ones it saves launches, some of which a "
          "graph of the separate kernels saves too.",
      .panels = {
          {.over = "steps",
           .x = count_axis("element-wise steps in one kernel"),
           .y = percent_axis("% of the time saved, large arrays", 100),
           .series = {{"measured", {.id = "fusion.chain", .figure = "saving"}},
                      {"by bytes moved", {.id = "fusion.chain", .figure = "saving_by_bytes"}}}},
          {.over = "bytes",
           .x = size_axis("bytes of each array"),
           .y = {.label = "µs for four steps, with launches", .per = 1e-6, .scale = Scale::kLog10},
           .series = {{"{}", {.id = "fusion.small", .figure = "time"}, "kernels"}},
           .names = {{"separate", "separate"}, {"graph", "graph of these"}, {"fused", "fused"}}}}};
}

// Time and bytes saved by one kernel, by number of "steps".
void summarize_chains(const CurveView& curve, Figures& figures) {
  for (const auto& [steps, fused] : sweep_where(curve, "steps", "kernels", "fused")) {
    const Params by = {{"steps", std::llround(steps)}};
    const Measurement* separate = single(curve, {by[0], {"kernels", "separate"}});
    if (separate == nullptr) continue;
    figures.add("saving", 1 - fused->summary->median / separate->summary->median, by);
    figures.add("saving_by_bytes", 1 - fused->work.bytes() / separate->work.bytes(), by);
  }
}

void summarize_small_chains(const CurveView& curve, Figures& figures) {
  for (const auto& [bytes, m] : sweep(curve, "bytes"))
    figures.add("time", m->summary->median / static_cast<double>(kChainsInARow),
                {{"kernels", text_param(m->params, "kernels").value_or("")},
                 {"bytes", std::llround(bytes)}});
}

}  // namespace

void register_fusion(Registry& registry) {
  registry.add(
      {.id = "fusion.chain",
       .what = "Bandwidth of a chain of element-wise additions, a kernel for each or one for all, "
               "by steps",
       .work = "bytes read plus bytes written by the kernels",
       .quantity = Quantity::kByteRate,
       .limit = device_memory_bandwidth(),
       .curves = {{kTopic,
                   {{"saving", unit::kShare, {"steps"}},
                    {"saving_by_bytes", unit::kShare, {"steps"}}},
                   summarize_chains}},
       .topics = {{kTopic, fusion_title, fusion_picture()}},
       .points = points_over({{"steps", values_of(kSteps)}, {"kernels", {"separate", "fused"}}},
                             {.seconds = 0.06})},
      on_gpu([](auto& bench) { fusion_chain(bench); }));
  registry.add({.id = "fusion.small",
                .what = "Rate of four such steps launched by the host in a row, alone, as a graph "
                        "or fused, by bytes of an array",
                .work = "bytes of the inputs and the result alone",
                .quantity = Quantity::kByteRate,
                .loads = Loads::kLink,
                .varies_with = VariesWith::kLaunches,
                .limit = on_chip_bandwidth(),
                .curves = {{kTopic, {{"time", "s", {"kernels", "bytes"}}}, summarize_small_chains}},
                .points = points_over({{"bytes", values_of(kSmallBytes)},
                                       {"kernels", {"separate", "graph", "fused"}}},
                                      {.phase = Phase::kLink, .seconds = 0.04})},
               on_gpu([](auto& bench) { fusion_small(bench); }));
}

}  // namespace peakline::bench

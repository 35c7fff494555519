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

// "time saved by one kernel: 2 steps 34.8 % (33.3 % by bytes), ...", by number of "steps".
void summarize_chains(const CurveView& curve, Sentence& sentence) {
  std::vector<std::string> parts;
  for (const auto& [steps, fused] : sweep_where(curve, "steps", "kernels", "fused")) {
    const Measurement* separate =
        single(curve, {{"steps", std::llround(steps)}, {"kernels", "separate"}});
    if (separate == nullptr) continue;
    const double saving = 1 - fused->summary->median / separate->summary->median;
    const double by_bytes = 1 - fused->work.bytes() / separate->work.bytes();
    parts.push_back(fmt::format("{:.0f} steps {} ({} by bytes)", steps, format_percent(saving),
                                format_percent(by_bytes)));
    sentence.figure("saving", saving, {{"steps", std::llround(steps)}});
    sentence.figure("saving_by_bytes", by_bytes, {{"steps", std::llround(steps)}});
  }
  sentence.add("time saved by one kernel:", parts);
}

// "4 steps over 64 KiB: 14.3 us with a kernel each, 6.38 us as a graph of these, 3.51 us fused", at
// the smallest "bytes".
void summarize_small_chains(const CurveView& curve, Sentence& sentence) {
  std::map<double, std::map<std::string, double>> seconds;  // by bytes and kernels
  for (const auto& [bytes, m] : sweep(curve, "bytes")) {
    const double chain_s = m->summary->median / static_cast<double>(kChainsInARow);
    const std::string kernels = text_param(m->params, "kernels").value_or("");
    seconds[bytes][kernels] = chain_s;
    sentence.figure("time", chain_s, {{"kernels", kernels}, {"bytes", std::llround(bytes)}});
  }
  if (seconds.empty()) return;
  const auto& [bytes, of] = *seconds.begin();
  if (of.size() < 3) return;
  sentence.add(
      fmt::format("4 steps over {}: {} with a kernel each, {} as a graph of these, {} fused",
                  format_size(bytes), format_time(of.at("separate")), format_time(of.at("graph")),
                  format_time(of.at("fused"))));
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
                   {{"saving", "1", {"steps"}}, {"saving_by_bytes", "1", {"steps"}}},
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

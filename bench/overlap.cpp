// Does copying the next batch in, and the last result out, hide behind computing?

#include "bench/pcie/ways.hpp"
#include "bench/pipeline.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void overlap_copies(CudaBench& bench, bool both_ways);

namespace {

constexpr const char* kTopic = "overlap";
constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::int64_t kLargest{pcie::kLargest};
constexpr std::array kPinnedChunks = {256 * kKiB, 4 * kMiB, 16 * kMiB, kLargest};
// The CPU stages these copies, which takes long; larger ones hide no more.
constexpr std::array kPageableChunks = {256 * kKiB, 16 * kMiB};

std::vector<Point> points() {
  const Point small{.phase = Phase::kLink, .seconds = 0.1};
  auto pinned = points_over({{"memory", {"pinned"}}, {"chunk", values_of(kPinnedChunks)}}, small);
  auto all = points_over({{"memory", {"pageable"}}, {"chunk", values_of(kPageableChunks)}}, small);
  // A stalled link recovers within 50 ms, which seven turns do not outlast.
  pinned.back().timing = Timing::kFull;
  pinned.back().seconds = 0.5;
  all.insert(all.begin(), pinned.begin(), pinned.end());
  return all;
}

std::string overlap_title(const TitleView& view) {
  const auto both = view.all(
      {.id = "overlap.h2d_d2h", .name = "share_of_hidden_rate", .by = {{"memory", "pinned"}}});
  return fmt::format(
      "Pinned copies to the device hide behind a kernel from {} on; both ways at once keep {} of "
      "their rate",
      view.text({.id = "overlap.h2d", .name = "hidden_from", .by = {{"memory", "pinned"}}}),
      format_percent(both.back()->value));
}

Picture overlap_picture() {
  // Shares alone would hide that pageable copies are slower: they hide behind a longer kernel.
  const auto panel = [](const char* id, const char* label) -> Panel {
    const auto of = [&](const char* name, const char* memory, const char* figure) -> PictureSeries {
      return {name, {.id = id, .figure = figure, .where = {{"memory", memory}}}};
    };
    return {
        .over = "chunk",
        .x = size_axis("bytes of a batch"),
        .y = {.label = label, .per = 1e9, .scale = Scale::kLog10},
        .series = {of("pinned", "pinned", "rate"), of("pinned, hidden", "pinned", "hidden_rate"),
                   of("pageable", "pageable", "rate"),
                   of("pageable, hidden", "pageable", "hidden_rate")},
        .naming = Naming::kEndsWithValue};
  };
  return {.key = "overlap",
          .subject = "Overlap: copying the next batch while computing",
          .how =
              "A kernel works on one batch while the next is copied in and, in both directions at "
              "once, the results of the last are copied out; it takes about as long as the slower "
              "copy alone, or the point is left out. Hidden is the rate if all but the slowest "
              "part took no time: a rate that reaches it has copies that cost nothing.",
          .panels = {panel("overlap.h2d", "GB/s, copying in"),
                     panel("overlap.h2d_d2h", "GB/s, copying in and out")}};
}

// Copies that reach this share of the slowest part's rate count as hidden.
constexpr double kHidden = 0.95;

// The share of the slowest part's rate, and from which chunk on all reach kHidden.
CurveRule hidden_copies() {
  const auto summarize = [](const CurveView& curve, Figures& figures) {
    for (const char* memory : {"pinned", "pageable"}) {
      double hidden_from = 0;  // 0: not hidden
      for (const auto& [chunk, m] : sweep_where(curve, "chunk", "memory", std::string(memory))) {
        const auto share = overlap_share(*m);
        if (!share) continue;
        const Params by = {{"memory", memory}, {"chunk", std::llround(chunk)}};
        figures.add("share_of_hidden_rate", *share, by);
        figures.add("rate", *m->value, by);
        figures.add("hidden_rate", *m->value / *share, by);
        if (*share < kHidden)
          hidden_from = 0;
        else if (hidden_from == 0)
          hidden_from = chunk;
      }
      if (hidden_from != 0) figures.add("hidden_from", hidden_from, {{"memory", memory}});
    }
  };
  return {kTopic,
          {{"share_of_hidden_rate", unit::kShare, {"memory", "chunk"}},
           {"rate", "B/s", {"memory", "chunk"}},
           {"hidden_rate", "B/s", {"memory", "chunk"}},
           {"hidden_from", "B", {"memory"}}},
          summarize};
}

}  // namespace

std::optional<double> overlap_share(const Measurement& m) {
  const auto alone_s = [&](const char* part) {
    return static_cast<double>(int_param(m.launch, part).value_or(0)) * 1e-9;
  };
  const double copy_s = std::max(alone_s(kCopyInNs), alone_s(kCopyOutNs));
  const double kernel_s = alone_s(kKernelNs);
  if (copy_s <= 0 || std::max(copy_s, kernel_s) > kMatched * std::min(copy_s, kernel_s))
    return std::nullopt;
  return std::max(copy_s, kernel_s) * *m.value / m.work.bytes();
}

unsigned steps_that_take(double seconds, StepsTiming few, StepsTiming many) {
  const double step_s = std::max((many.seconds - few.seconds) / (many.steps - few.steps),
                                 many.seconds / (16.0 * many.steps));
  return static_cast<unsigned>(std::max(0.0, few.steps + (seconds - few.seconds) / step_s)) + 1;
}

void register_overlap(Registry& registry) {
  const auto add = [&](int directions, Benchmark benchmark) {
    benchmark.quantity = Quantity::kByteRate;
    benchmark.method_version = 2;  // v1: medians
    benchmark.loads = Loads::kLink;
    benchmark.estimate = kOverlapEstimate;
    benchmark.varies_with = VariesWith::kLaunches;
    benchmark.limit = host_link(directions);
    benchmark.curves = {hidden_copies()};
    benchmark.points = points();
    registry.add(std::move(benchmark),
                 on_gpu([=](auto& bench) { overlap_copies(bench, directions == 2); }));
  };
  add(1, {.id = "overlap.h2d",
          .what = "Rate of copying the next batch to the device while a kernel works on this one, "
                  "by chunk",
          .work = "bytes over the link, timed until copy and kernel are done"});
  add(2, {.id = "overlap.h2d_d2h",
          .what = "The same with the last batch's results going back to the host at the same time, "
                  "by chunk",
          .work = "bytes of both directions, timed until both copies and the kernel are done",
          .topics = {{kTopic, overlap_title, overlap_picture()}}});
}

}  // namespace peakline::bench

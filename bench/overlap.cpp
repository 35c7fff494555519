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
  pinned.back().rule = Rule::kFull;
  pinned.back().seconds = 0.5;
  all.insert(all.begin(), pinned.begin(), pinned.end());
  return all;
}

std::string overlap_title(const TitleView& view) {
  const auto both =
      view.all({.id = "overlap.h2d_d2h", .name = "share", .by = {{"memory", "pinned"}}});
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
  return {
      .key = "overlap",
      .subject = "Overlap: copying the next batch while computing",
      .how =
          "A kernel works on one batch while the next is copied in and, in the second panel, the "
          "results of the last are copied out; it takes about as long as the slower copy alone, or "
          "the "
          "point is left out. A line called hidden is the rate if all but the slowest part took no "
          "time: where the line below meets it, the copies cost nothing.",
      .panels = {panel("overlap.h2d", "GB/s, copying in"),
                 panel("overlap.h2d_d2h", "GB/s, copying in and out")}};
}

// Copies that reach this share of the slowest part's rate count as hidden.
constexpr double kHidden = 0.95;

// "copying in while a kernel runs: 98.7 % of the slowest part's rate with pinned memory (95 % from
// chunks of 4 MiB), 93.1 % with pageable": at the largest "chunk" of each "memory", and from which
// chunk on all reach kHidden.
CurveRule hidden_copies(const std::string& label) {
  const auto summarize = [=](const CurveView& curve, Sentence& sentence) {
    std::vector<std::string> parts;
    for (const char* memory : {"pinned", "pageable"}) {
      const auto points = sweep_where(curve, "chunk", "memory", std::string(memory));
      double share = 0, hidden_from = 0;  // share: at the largest chunk; hidden_from 0: not hidden
      for (const auto& [chunk, m] : points) {
        const auto found = overlap_share(*m);
        if (!found) continue;
        share = *found;
        const Params by = {{"memory", memory}, {"chunk", std::llround(chunk)}};
        sentence.figure("share", share, by);
        sentence.figure("rate", *m->value, by);
        sentence.figure("hidden_rate", *m->value / share, by);
        if (share < kHidden)
          hidden_from = 0;
        else if (hidden_from == 0)
          hidden_from = chunk;
      }
      if (share == 0) continue;
      parts.push_back(parts.empty() ? fmt::format("{} of the slowest part's rate with {} memory",
                                                  format_percent(share), memory)
                                    : fmt::format("{} with {}", format_percent(share), memory));
      if (hidden_from == 0) continue;
      parts.back() +=
          fmt::format(" ({:.0f} % from chunks of {})", kHidden * 100, format_size(hidden_from));
      sentence.figure("hidden_from", hidden_from, {{"memory", memory}});
    }
    if (!parts.empty())
      sentence.add(fmt::format("{} while a kernel runs: {}", label, fmt::join(parts, ", ")));
  };
  return {kTopic,
          {{"share", "1", {"memory", "chunk"}},
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
  const auto add = [&](const char* id, const char* what, const char* work, int directions,
                       CurveRule curve, std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .method_version = 2,  // v1: medians
                  .loads = Loads::kLink,
                  .estimate = kOverlapEstimate,
                  .varies_with = VariesWith::kLaunches,
                  .limit = host_link(directions),
                  .curves = {std::move(curve)},
                  .topics = std::move(topics),
                  .points = points()},
                 on_gpu([=](auto& bench) { overlap_copies(bench, directions == 2); }));
  };
  add("overlap.h2d",
      "Rate of copying the next batch to the device while a kernel works on this one, by chunk",
      "bytes over the link, timed until copy and kernel are done", 1, hidden_copies("copying in"));
  add("overlap.h2d_d2h",
      "The same with the last batch's results going back to the host at the same time, by chunk",
      "bytes of both directions, timed until both copies and the kernel are done", 2,
      hidden_copies("copying in and out"), {{kTopic, overlap_title, overlap_picture()}});
}

}  // namespace peakline::bench

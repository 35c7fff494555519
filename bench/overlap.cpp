// Does copying hide behind computing? The next batch comes in while a kernel works on this one, and
// the last one's result goes out.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/pipeline.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/conclude/limits.hpp"
#include "harness/values/units.hpp"

namespace peakline::bench {

// largest: bytes of the largest chunk, for which the host's memory is allocated once.
void overlap_copies(CudaBench& bench, bool both_ways, std::size_t largest);

namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::int64_t kLargest = 256 * kMiB;
constexpr std::array kPinnedChunks = {256 * kKiB, 4 * kMiB, 16 * kMiB, kLargest};
// The CPU stages these copies, which takes long.
constexpr std::array kPageableChunks = {256 * kKiB, 16 * kMiB, kLargest};

std::vector<Point> points() {
  std::vector<Point> all;
  const auto add = [&](const char* memory, std::span<const std::int64_t> chunks, double largest_s) {
    for (const std::int64_t chunk : chunks)
      all.push_back({.params = {{"memory", memory}, {"chunk", chunk}},
                     .phase = Phase::kLink,
                     .seconds = chunk < kLargest ? 0.1 : largest_s});
  };
  add("pinned", kPinnedChunks, 0.3);
  add("pageable", kPageableChunks, 1.5);
  return all;
}

std::string overlap_title(const TitleView& view) {
  const auto both =
      view.all({.id = "overlap.h2d_d2h", .name = "share", .by = {{"memory", "pinned"}}});
  return fmt::format(
      "Copies to the device hide behind a kernel from {} on; both ways reach {}",
      format_size(
          view.value({.id = "overlap.h2d", .name = "hidden_from", .by = {{"memory", "pinned"}}})),
      format_percent(both.back()->value));
}

Picture overlap_picture() {
  const auto panel = [](const char* id, const char* label, int parts) -> Panel {
    return {.over = "chunk",
            .x = {.label = "bytes of a batch", .written = Written::kSize, .scale = Scale::kLog2},
            .y = {.label = label, .per = 0.01, .low = 0, .high = 110},
            .series = {{"{}", {.id = id, .figure = "share"}, "memory"}},
            .marks = {{.label = "all else hidden", .value = 1.0},
                      {.label = "one after another", .value = 1.0 / parts}}};
  };
  return {
      .key = "overlap",
      .subject = "Overlap: copying the next batch while computing",
      .how =
          "A kernel works on one batch while the next is copied in and, at the right, the "
          "results of the last are copied out; it takes about as long as the slower copy "
          "alone, or the point is left out. 100 % is the rate of the slowest part alone; "
          "the lower dashed line is what equal parts reach one after another.",
      .panels = {panel("overlap.h2d", "% of the slowest part's rate, copying in", 2),
                 panel("overlap.h2d_d2h", "% of the slowest part's rate, copying in and out", 3)}};
}

}  // namespace

void register_overlap(Registry& registry) {
  const auto add = [&](const char* id, const char* what, const char* work, int directions,
                       CurveRule curve) {
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = Quantity::kByteRate,
                  .loads = Loads::kLink,
                  .varies_with = VariesWith::kLaunches,
                  .limit = pcie_link(directions),
                  .curves = {std::move(curve)},
                  .topics = directions == 2
                                ? std::vector<Topic>{{"overlap", overlap_title, overlap_picture()}}
                                : std::vector<Topic>{},
                  .points = points()},
                 on_gpu([=](auto& bench) { overlap_copies(bench, directions == 2, kLargest); }));
  };
  add("overlap.h2d",
      "Rate of copying the next batch to the device while a kernel works on this one, by chunk",
      "bytes over the link, timed until copy and kernel are done", 1, overlap_curve("copying in"));
  add("overlap.h2d_d2h",
      "The same with the last batch's results going back to the host at the same time, by chunk",
      "bytes of both directions, timed until both copies and the kernel are done", 2,
      overlap_curve("copying in and out"));
}

}  // namespace peakline::bench

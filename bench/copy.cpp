// Which way of copying from global to shared memory is fastest, and how large must a copy be?

#include "bench/copies.hpp"
#include "bench/copy_tiles.hpp"
#include "bench/question.hpp"

namespace peakline::bench {

void copy_hbm(CudaBench& bench);
void copy_l2(CudaBench& bench);
void copy_latency(CudaBench& bench);

namespace {

std::vector<Point> points_of() {
  std::vector<Point> points;
  for (const CopyTile& tile : kCopyTiles)
    points.push_back(
        {.params = {{"way", std::string(tile.way)}, {"tile", tile.bytes}}, .seconds = 0.05});
  return points;
}

Picture copies_picture() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const CopyTile& tile : kCopyTiles)
    if (names.empty() || names.back().first != tile.way)
      names.emplace_back(tile.way, way_label(std::string(tile.way)));
  const auto panel = [&](const char* id, const char* label, double per) -> Panel {
    return {.over = "tile",
            .x = size_axis("size of one copy"),
            .y = {.label = label, .per = per, .low = 0},
            .series = {{"{}", {.id = id}, "way"}},
            .names = names,
            .naming = Naming::kLegend};
  };
  return {.key = "copies",
          .subject = "Copies to shared memory: which way, and how large",
          .how =
              "Plain loads go through registers, cp.async bypasses them; both move 16 bytes per "
              "lane. Bulk and tensor copies are started by one lane and carried out by the SM's "
              "Tensor Memory Accelerator. In the first two panels the number of warps that share "
              "an SM is the best one; in the third a warp waits for each copy.",
          .panels = {panel("copy.hbm", "GB/s from memory", 1e9),
                     panel("copy.l2", "GB/s from the L2", 1e9),
                     panel("copy.latency", "ns, one copy alone", 1e-9)}};
}

}  // namespace

void register_copy(Registry& registry) {
  const auto add = [&](const char* id, const char* what, const char* work, Quantity quantity,
                       Loads loads, Limit limit, CurveRule curve, Run run,
                       std::vector<Topic> topics = {}) {
    registry.add({.id = id,
                  .what = what,
                  .work = work,
                  .quantity = quantity,
                  .loads = loads,
                  .limit = std::move(limit),
                  .curves = {std::move(curve)},
                  .topics = std::move(topics),
                  .points = points_of()},
                 std::move(run));
  };
  constexpr const char* kOnce = "bytes copied, counted once";
  add("copy.hbm", "Bandwidth of copies from device to shared memory, by way and size", kOnce,
      Quantity::kByteRate, Loads::kMemory, device_memory_bandwidth(),
      copy_rate_curve("from memory"), on_gpu([](auto& bench) { copy_hbm(bench); }));
  // Shared memory's data path is the bound; NVIDIA states none for the L2.
  add("copy.l2", "Bandwidth of copies from the L2 to shared memory, by way and size", kOnce,
      Quantity::kByteRate, Loads::kCores, on_chip_bandwidth(), copy_rate_curve("from the L2"),
      on_gpu([](auto& bench) { copy_l2(bench); }));
  add("copy.latency", "Time of one copy from the L2 to shared memory, by way and size",
      "seconds from its start until a word of it has been read", Quantity::kTime, Loads::kCores, {},
      copy_latency_curve(), on_gpu([](auto& bench) { copy_latency(bench); }),
      {{kToShared, copies_title, copies_picture()}});
}

}  // namespace peakline::bench

// Which way of copying from global to shared memory is fastest, and how large must a copy be?

#include <string>
#include <utility>
#include <vector>

#include "bench/copies.hpp"
#include "bench/copy_tiles.hpp"
#include "harness/benchmark/registry.hpp"
#include "harness/conclude/limits.hpp"

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
            .x = {.label = "size of one copy", .written = Written::kSize, .scale = Scale::kLog2},
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
              "Tensor Memory Accelerator. In the first two panels the number of warps that "
              "share an SM is the best one; in the third a warp waits for each copy.",
          .panels = {panel("copy.hbm", "GB/s from memory", 1e9),
                     panel("copy.l2", "GB/s from the L2", 1e9),
                     panel("copy.latency", "ns, one copy alone", 1e-9)}};
}

}  // namespace

void register_copy(Registry& registry) {
  registry.add({.id = "copy.hbm",
                .what = "Bandwidth of copies from device to shared memory, by way and size",
                .work = "bytes copied, counted once",
                .quantity = Quantity::kByteRate,
                .limit = device_memory_bandwidth(),
                .curves = {copy_rate_curve("from memory")},
                .points = points_of()},
               on_gpu([](auto& bench) { copy_hbm(bench); }));
  // Each byte is written to shared memory, whose data path is the bound; NVIDIA states none of the
  // L2.
  registry.add({.id = "copy.l2",
                .what = "Bandwidth of copies from the L2 to shared memory, by way and size",
                .work = "bytes copied, counted once",
                .quantity = Quantity::kByteRate,
                .loads = Loads::kCores,
                .limit = on_chip_bandwidth(),
                .curves = {copy_rate_curve("from the L2")},
                .points = points_of()},
               on_gpu([](auto& bench) { copy_l2(bench); }));
  registry.add({.id = "copy.latency",
                .what = "Time of one copy from the L2 to shared memory, by way and size",
                .work = "seconds from its start until a word of it has been read",
                .quantity = Quantity::kTime,
                .loads = Loads::kCores,
                .limit = no_limit("a time has no upper limit"),
                .curves = {copy_latency_curve()},
                .topics = {{kToShared, copies_title, copies_picture()}},
                .points = points_of()},
               on_gpu([](auto& bench) { copy_latency(bench); }));
}

}  // namespace peakline::bench

// What is left of the memory's bandwidth for single sectors anywhere?

#include <cstdint>
#include <utility>
#include <vector>

#include "harness/benchmark/registry.hpp"
#include "harness/conclude/concurrency.hpp"
#include "harness/conclude/limits.hpp"

namespace peakline::bench {

void random_gather(CudaBench& bench);

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
// Many times an L2, which holds its part of the sectors; and more than a TLB covers.
constexpr std::uint64_t kLeastFootprint = kGiB, kMostFootprint = 128 * kGiB;

}  // namespace

void register_random(Registry& registry) {
  std::vector<Point> footprints;
  for (std::uint64_t bytes = kLeastFootprint; bytes <= kMostFootprint; bytes *= 2)
    for (const std::uint64_t size : {bytes, bytes + bytes / 2})
      if (size <= kMostFootprint)
        footprints.push_back(
            {.params = {{"bytes", static_cast<std::int64_t>(size)}}, .seconds = 0.06});
  registry.add({.id = "random.gather",
                .what = "Bandwidth of 32-byte sectors read at random, by footprint",
                .work = "bytes of the sectors asked for, not what memory fetches for them",
                .quantity = Quantity::kByteRate,
                .limit = device_memory_bandwidth(),
                .curves = {gather_curve()},
                .points = std::move(footprints)},
               on_gpu([](auto& bench) { random_gather(bench); }));
}

}  // namespace peakline::bench

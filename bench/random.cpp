// What is left of the memory's bandwidth for random sectors?

#include "bench/question.hpp"
#include "harness/conclude/concurrency.hpp"

namespace peakline::bench {

void random_gather(CudaBench& bench);

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// The smallest is many times an L2; the largest exceeds what a TLB covers.
constexpr std::int64_t kLeastFootprint = kGiB, kMostFootprint = 128 * kGiB;

}  // namespace

void register_random(Registry& registry) {
  std::vector<ParamValue> footprints;
  for (std::int64_t bytes = kLeastFootprint; bytes <= kMostFootprint; bytes *= 2)
    for (const std::int64_t size : {bytes, bytes + bytes / 2})
      if (size <= kMostFootprint) footprints.emplace_back(size);
  registry.add({.id = "random.gather",
                .what = "Bandwidth of 32-byte sectors read at random, by footprint",
                .work = "bytes of the sectors asked for, not what memory fetches for them",
                .quantity = Quantity::kByteRate,
                .limit = device_memory_bandwidth(),
                .curves = {gather_curve()},
                .points = points_over("bytes", std::move(footprints), {.seconds = 0.06})},
               on_gpu([](auto& bench) { random_gather(bench); }));
}

}  // namespace peakline::bench

// What is left of the memory's bandwidth for random sectors?

#include "bench/question.hpp"
#include "harness/statistics/statistics.hpp"

namespace peakline::bench {

void random_gather(CudaBench& bench);

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// The smallest is many times an L2; the largest exceeds what a TLB covers.
constexpr std::int64_t kLeastFootprint = kGiB, kMostFootprint = 128 * kGiB;

// Lower shares of the rate over smaller footprints mean that the TLB no longer covers the
// footprint.
constexpr double kWithinReach = 0.75;
constexpr std::size_t kFewestWithinReach = 3;

// "sectors of 32 B: 1202 GB/s up to 64 GiB, 193 GB/s over 128 GiB": up to where the rate falls by a
// quarter of its median so far, and at the largest footprint.
void summarize_gather(const CurveView& curve, Sentence& sentence) {
  const auto points = sweep(curve, "bytes");
  std::vector<double> rates;
  double reach = 0;
  for (const CurvePoint& point : points) {
    if (!rates.empty() && *point.m->value < kWithinReach * median(rates)) break;
    rates.push_back(*point.m->value);
    reach = point.x;
  }
  if (rates.size() < kFewestWithinReach) return;
  const double rate = median(rates);
  std::string text =
      fmt::format("sectors of 32 B: {} up to {}", format_rate(rate, "B/s"), format_size(reach));
  sentence.figure("rate", rate);
  if (rates.size() < points.size()) {
    const double beyond = *points.back().m->value;
    text += fmt::format(", {} over {}", format_rate(beyond, "B/s"), format_size(points.back().x));
    sentence.figure("reach", reach);
    sentence.figure("rate_beyond", beyond);
    sentence.figure("beyond", points.back().x);
  }
  sentence.add(std::move(text));
}

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
                .curves = {{"random access",
                            {{"rate", "B/s", {}, role::kReachRate},
                             {"reach", "B", {}, role::kReach},
                             {"rate_beyond", "B/s", {}, role::kBeyondRate},
                             {"beyond", "B", {}, role::kBeyond}},
                            summarize_gather}},
                .points = points_over("bytes", std::move(footprints), {.seconds = 0.06})},
               on_gpu([](auto& bench) { random_gather(bench); }));
}

}  // namespace peakline::bench

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

constexpr const char* kTopic = "random access";

std::string title(const TitleView& view) {
  std::string text = "Random sectors of 32 B: " + view.text({.role = role::kReachRate});
  if (view.find({.role = role::kReach}) != nullptr)
    text += fmt::format(" up to {}, {} over {}", view.text({.role = role::kReach}),
                        view.text({.role = role::kBeyondRate}), view.text({.role = role::kBeyond}));
  return text;
}

// Up to where the rate falls by a quarter of its median so far, and at the largest footprint.
void summarize_gather(const CurveView& curve, Figures& figures) {
  const auto points = sweep(curve, "bytes");
  std::vector<double> rates;
  double reach = 0;
  for (const CurvePoint& point : points) {
    if (!rates.empty() && *point.m->value < kWithinReach * median(rates)) break;
    rates.push_back(*point.m->value);
    reach = point.x;
  }
  if (rates.size() < kFewestWithinReach) return;
  figures.add("rate", median(rates));
  if (rates.size() == points.size()) return;
  figures.add("reach", reach);
  figures.add("rate_beyond", *points.back().m->value);
  figures.add("beyond", points.back().x);
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
                .curves = {{kTopic,
                            {{"rate", "B/s", {}, role::kReachRate},
                             {"reach", "B", {}, role::kReach},
                             {"rate_beyond", "B/s", {}, role::kBeyondRate},
                             {"beyond", "B", {}, role::kBeyond}},
                            summarize_gather}},
                .topics = {{kTopic, title}},
                .points = points_over("bytes", std::move(footprints), {.seconds = 0.06})},
               on_gpu([](auto& bench) { random_gather(bench); }));
}

}  // namespace peakline::bench

// How fast is the L2?

#include "bench/question.hpp"

namespace peakline::bench {

void l2_read(CudaBench& bench);
void l2_write(CudaBench& bench);

namespace {

// Percentages of the L2. The first is the ceiling's: it hits, however the L2 is partitioned. The
// others lie on both sides of it.
constexpr std::array<std::int64_t, 3> kL2Shares{40, 25, 60};

std::vector<Point> share_points() {
  auto points = points_over("percent_of_l2", values_of(kL2Shares), {.seconds = 0.15});
  points.front().timing = Timing::kFull;
  points.front().seconds = 0.8;
  return points;
}

}  // namespace

void register_l2(Registry& registry) {
  const auto add = [&](const char* id, const char* what, const char* work, Run run) {
    const auto counts = [](const Measurement& m, const DeviceFacts*) {
      return int_param(m.params, "percent_of_l2") == kL2Shares.front();
    };
    registry.add(
        {.id = id,
         .what = what,
         .work = work,
         .quantity = Quantity::kByteRate,
         .method_version = 3,  // v2: each SM had its own part, and one far from it held up all
         .limit = only_bound(on_chip_bandwidth(), "NVIDIA states no bandwidth of the L2"),
         .ceilings = {{.resource = resource(id), .counts = counts}},
         .points = share_points()},
        std::move(run));
  };
  add("l2.read", "L2 read bandwidth, past the L1, by the share of the L2 that is read",
      "bytes read by threads", on_gpu([](auto& bench) { l2_read(bench); }));
  add("l2.write", "L2 write bandwidth, by the share of the L2 that is written",
      "bytes written by threads", on_gpu([](auto& bench) { l2_write(bench); }));
}

}  // namespace peakline::bench

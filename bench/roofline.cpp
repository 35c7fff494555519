// Where does a kernel stop being memory-bound?

#include "bench/question.hpp"
#include "harness/hardware/spec.hpp"

namespace peakline::bench {

void roofline_sweep_fp32(CudaBench& bench);
void roofline_sweep_fp64(CudaBench& bench);

namespace {

// The lower of compute peak and intensity x memory bandwidth.
Limit under_roofline(const std::string& compute) {
  return {.of = [roof = compute_peak({compute.c_str()})](
                    const Measurement* m,
                    const DeviceFacts& device) -> std::optional<PhysicalLimit> {
    if (m == nullptr || m->work.flops <= 0) return std::nullopt;
    auto limit = roof.of(m, device);
    const auto bandwidth = theoretical_memory_bandwidth(device);
    if (!bandwidth || m->work.bytes() <= 0) return limit;
    const double slope = *bandwidth * m->work.flops / m->work.bytes();
    if (limit && limit->value <= slope) return limit;
    return PhysicalLimit{.value = slope, .how = "memory bandwidth x intensity", .conditions = {}};
  }};
}

constexpr const char* kTopic = "roofline sweep";

std::string title(const TitleView& view) {
  return fmt::format("FP32 bends at {} FLOP/byte, where it reaches {} of its own roof",
                     format_number(view.value({.name = "knee"})),
                     format_percent(view.value({.name = "share_at_knee"})));
}

// Steps of about the square root of two around the ridge, where the curve bends.
std::vector<Point> sweep_points() {
  auto points = points_over("fma_per_element",
                            {0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024},
                            {.seconds = 0.1});
  for (Point& point : points) {
    const std::int64_t fmas = *int_param(point.params, "fma_per_element");
    point.quick = fmas == 0 || fmas == 8 || fmas == 32 || fmas == 256;
    point.seconds += 1e-4 * static_cast<double>(fmas);
  }
  return points;
}

}  // namespace

void register_roofline(Registry& registry) {
  const auto add = [&](const std::string& precision, const char* what, Run run,
                       std::vector<Topic> topics = {}) {
    registry.add({.id = "roofline.sweep." + precision,
                  .what = what,
                  .work = "2 FLOP per FMA, bytes read; with 0 FMAs only the bytes count",
                  .quantity = Quantity::kFlopRate,
                  .method_version = 2,  // v1 ran in unequal waves
                  .loads = Loads::kCores,
                  .limit = under_roofline("cuda_core." + precision),
                  .curves = {knee_curve(kTopic)},
                  .topics = std::move(topics),
                  .roofline_precision = precision,
                  .points = sweep_points()},
                 std::move(run));
  };
  add("fp32", "FP32 throughput on data from device memory, by FMAs per element",
      on_gpu([](auto& bench) { roofline_sweep_fp32(bench); }), {{kTopic, title}});
  add("fp64", "FP64 throughput on data from device memory, by FMAs per element",
      on_gpu([](auto& bench) { roofline_sweep_fp64(bench); }));
}

}  // namespace peakline::bench

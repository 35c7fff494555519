// What is the FMA throughput of the host's vector units?

#include "bench/host/kernels.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/host_bench.hpp"

namespace peakline::bench {
namespace {

// Filling and draining the chains, a few dozen cycles, costs below 0.1 % of so many.
constexpr std::int64_t kSteps = 16384;

template <class T>
auto kernel_of(const HostKernels& kernels) {
  if constexpr (sizeof(T) == sizeof(float))
    return kernels.fma_fp32;
  else
    return kernels.fma_fp64;
}

template <class T>
void fma(HostBench& bench) {
  const auto threads = static_cast<int>(bench.integer("threads"));
  const HostKernels& kernels = widest_host_kernels();
  const auto kernel = kernel_of<T>(kernels);
  const auto lanes = static_cast<std::size_t>(kernels.fma_chains) *
                     static_cast<std::size_t>(kernels.vector_bytes) / sizeof(T);
  std::vector<T> start(lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane)
    start[lane] =
        static_cast<T>(1 + 0x1p-23 * static_cast<double>(random_word(bench.seed(), lane) >> 41));
  std::vector<std::vector<T>> results(static_cast<std::size_t>(threads), std::vector<T>(lanes));
  const auto launch = [&](int thread) {
    kernel(start.data(), results[static_cast<std::size_t>(thread)].data(), kFmaFactor<T>,
           kFmaAddend<T>, kSteps);
  };
  bench.verify([&] {
    bench.team(threads).run(launch);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const T expected =
          reference_fma_chain(kernels.fused, start[lane], kFmaFactor<T>, kFmaAddend<T>, kSteps);
      // All threads have the same start values.
      for (std::size_t thread = 0; thread < results.size(); ++thread)
        if (results[thread][lane] != expected)
          return fmt::format("thread {}, lane {}: {}, not {}", thread, lane, results[thread][lane],
                             expected);
    }
    return std::string();
  });
  bench.note("vector", std::string(to_string(kernels.extension)));
  bench.note("fused", std::string(kernels.fused ? "yes" : "no"));
  bench.note("chains", std::int64_t{kernels.fma_chains});
  bench.measure({.flops = 2.0 * static_cast<double>(kSteps) * static_cast<double>(lanes) * threads},
                launch, threads);
}

// One thread, and all threads for the ceiling.
std::vector<Point> load_points(int threads) {
  std::vector<Point> points;
  if (threads > 1)
    points.push_back({.params = {{"threads", 1}}, .phase = Phase::kHost, .seconds = 0.1});
  points.push_back({.params = {{"threads", threads}},
                    .phase = Phase::kHost,
                    .timing = Timing::kFull,
                    .quick = true,
                    .seconds = 0.3});
  return points;
}

std::string threads_title(const TitleView& view) {
  const auto speedup = [&](const char* id) { return view.value({.id = id, .name = "speedup"}); };
  return fmt::format("All threads read {:.1f} x as fast as one, and compute {:.1f} x as fast",
                     speedup("host.memory.read"), speedup("host.fma.fp32"));
}

Picture threads_picture() {
  const auto panel = [](const char* label, std::vector<PictureSeries> series) -> Panel {
    return {.over = "threads",
            .x = count_axis("threads"),
            .y = {.label = label, .per = 1e9, .low = 0},
            .series = std::move(series),
            .naming = Naming::kEndsWithValue};
  };
  return {.key = "host",
          .subject = "Threads: the memory and arithmetic of the host",
          .how =
              "A rate that flattens has hit a shared limit, usually the memory controllers; one "
              "that keeps rising still gains from every thread.",
          .panels = {panel("GB/s", {{"read", {.id = "host.memory.read"}},
                                    {"copy", {.id = "host.memory.copy"}},
                                    {"triad", {.id = "host.memory.triad"}}}),
                     panel("GFLOP/s", {{"FP32", {.id = "host.fma.fp32"}},
                                       {"FP64", {.id = "host.fma.fp64"}}})}};
}

}  // namespace

void register_host_fma(Registry& registry, int threads) {
  const auto add = [&](const std::string& format, const char* what, void (*run)(HostBench&),
                       std::vector<CurveRule> curves = {}, std::vector<Topic> topics = {}) {
    registry.add({.id = "host.fma." + format,
                  .what = what,
                  .work = "2 FLOP per x * a + b and lane",
                  .quantity = Quantity::kFlopRate,
                  .loads = Loads::kHost,
                  .limit = no_limit("the number of vector units of the CPU is not known"),
                  .ceilings = {{.resource = resource("cpu." + format)}},
                  .curves = std::move(curves),
                  .topics = std::move(topics),
                  .points = load_points(threads)},
                 run);
  };
  add("fp32", "FP32 FMA throughput of the widest vector unit, operands in registers", fma<float>,
      {thread_curve("threads", Quantity::kFlopRate)},
      {{"threads", threads_title, threads_picture()}});
  add("fp64", "FP64 FMA throughput of the widest vector unit, operands in registers", fma<double>);
}

}  // namespace peakline::bench

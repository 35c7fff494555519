// How many results of each instruction come out of an SM per clock, and after how many clocks?

#include "bench/instruction.hpp"

#include "bench/question.hpp"
#include "harness/hardware/spec.hpp"

namespace peakline::bench {

void instruction_throughput(CudaBench& bench);
void instruction_latency(CudaBench& bench);

namespace {

constexpr const char* kTopic = "instructions";

// Documented results per clock x SMs x maximum SM clock.
Limit instruction_rate() {
  return {
      .of = [](const Measurement* m, const DeviceFacts& device) -> std::optional<PhysicalLimit> {
        if (m == nullptr) return std::nullopt;
        const auto results = peakline::results_per_clock_per_sm(
            device.compute_major, device.compute_minor, text_param(m->params, "op").value_or(""));
        if (!results) return std::nullopt;
        return per_clock_per_sm(*results, "results").of(m, device);
      }};
}

std::string instructions_title(const TitleView& view) {
  std::string furthest;
  double least = 0;
  for (const Figure* documented : view.all({.role = role::kDocumentedResults})) {
    const std::string op = *text_param(documented->by, "op");
    const double share =
        view.value({.role = role::kResults, .by = {{"op", op}}}) / documented->value;
    if (!furthest.empty() && share >= least) continue;
    furthest = op;
    least = share;
  }
  return fmt::format("Furthest below its documented rate: {}, at {}", spaced(furthest),
                     format_percent(least));
}

void summarize_throughput(const CurveView& curve, Figures& figures) {
  if (curve.device == nullptr) return;
  for (const Measurement* m : curve.points) {
    const auto op = text_param(m->params, "op");
    const auto found = results_per_clock_per_sm(*m, *curve.device);
    if (!op || !found) continue;
    figures.add("results", *found, {{"op", *op}});
    if (const auto documented = peakline::results_per_clock_per_sm(
            curve.device->compute_major, curve.device->compute_minor, *op))
      figures.add("documented", *documented, {{"op", *op}});
  }
}

void summarize_latency(const CurveView& curve, Figures& figures) {
  for (const Measurement* m : curve.points) {
    const auto op = text_param(m->params, "op");
    const auto cycles = latency_cycles(*m);
    if (op && cycles) figures.add("cycles", *cycles, {{"op", *op}});
  }
}

}  // namespace

std::optional<double> results_per_clock_per_sm(const Measurement& m, const DeviceFacts& device) {
  const auto& clock_hz = m.conditions.sm_clock_hz;
  if (!m.value || !clock_hz || *clock_hz <= 0 || device.sm_count.value_or(0) <= 0)
    return std::nullopt;
  return *m.value / *clock_hz / *device.sm_count;
}

std::optional<double> latency_cycles(const Measurement& m) {
  if (!m.value || !m.conditions.sm_clock_hz) return std::nullopt;
  return *m.value * *m.conditions.sm_clock_hz;
}

void register_instruction(Registry& registry) {
  registry.add(
      {.id = "instruction.throughput",
       .what = "Throughput of single instructions, operands in registers",
       .work =
           "results: one an instruction and thread, two of a packed pair; a multiply-add is one",
       .quantity = Quantity::kOpRate,
       .loads = Loads::kCores,
       .limit = instruction_rate(),
       .curves = {{kTopic,
                   {{"results", "1/clk/SM", {"op"}, role::kResults},
                    {"documented", "1/clk/SM", {"op"}, role::kDocumentedResults}},
                   summarize_throughput}},
       .topics = {{kTopic, instructions_title}},
       .points = points_over("op", values_of(kInstructionNames), {.seconds = 0.04})},
      on_gpu([](auto& bench) { instruction_throughput(bench); }));
  registry.add(
      {.id = "instruction.latency",
       .what =
           "Latency of single instructions: one warp, each instruction waits for the one before",
       .work = "device seconds of an instruction, by the clock read by the kernel itself",
       .loads = Loads::kCores,
       .curves = {{kTopic, {{"cycles", "cycles", {"op"}, role::kCycles}}, summarize_latency}},
       .points = points_over("op", values_of(kInstructionNames), {.seconds = 0.02})},
      on_gpu([](auto& bench) { instruction_latency(bench); }));
}

}  // namespace peakline::bench

// How many results of each instruction come out of an SM per clock, and after how many clocks?

#include "bench/instruction_table.hpp"
#include "bench/question.hpp"
#include "harness/conclude/instruction_curves.hpp"

namespace peakline::bench {

void instruction_throughput(CudaBench& bench);
void instruction_latency(CudaBench& bench);

namespace {

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

}  // namespace

void register_instruction(Registry& registry) {
  registry.add(
      {.id = "instruction.throughput",
       .what = "Throughput of single instructions, operands in registers",
       .work =
           "results: one an instruction and thread, two of a packed pair; a multiply-add is one",
       .quantity = Quantity::kOpRate,
       .loads = Loads::kCores,
       .limit = instruction_rate(),
       .curves = {instruction_throughput_curve()},
       .topics = {{kInstructions, instructions_title}},
       .points = points_over("op", values_of(kInstructionNames), {.seconds = 0.04})},
      on_gpu([](auto& bench) { instruction_throughput(bench); }));
  registry.add(
      {.id = "instruction.latency",
       .what =
           "Latency of single instructions: one warp, each instruction waits for the one before",
       .work = "device seconds of an instruction, by the clock read by the kernel itself",
       .loads = Loads::kCores,
       .curves = {instruction_latency_curve()},
       .points = points_over("op", values_of(kInstructionNames), {.seconds = 0.02})},
      on_gpu([](auto& bench) { instruction_latency(bench); }));
}

}  // namespace peakline::bench

// What do the matrix instructions reach on their own?

#include "bench/mma_table.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/load_points.hpp"

namespace peakline::bench {

void mma_rate(CudaBench& bench);

namespace {

// mma.sync is the way to the Tensor Cores up to 8.9 and on 12.x; on 9.0 it competes with wgmma. On
// 10.x and 11.x it feeds them fully in FP64 and, on 10.3, in INT8 alone: another ceiling from it
// would lie below what GEMMs reach.
bool feeds_the_units(const Measurement& m, const DeviceFacts* device) {
  if (device == nullptr || (device->compute_major != 10 && device->compute_major != 11))
    return true;
  const bool is_10_3 = device->compute_major == 10 && device->compute_minor == 3;
  return m.id == "mma.sync.fp64" || (is_10_3 && m.id == "mma.sync.int8");
}

}  // namespace

void register_mma(Registry& registry) {
  for (const auto& [id, format] : kMatrixInstructions) {
    // --quick has time for one.
    const bool quick = id == "mma.wgmma.bf16";
    const bool sync = id.starts_with("mma.sync.");
    const bool whole_numbers = id.ends_with(".int8");
    const std::string unit = "tensor." + std::string(id.substr(id.rfind('.') + 1));
    registry.add(
        {.id = std::string(id),
         .what = std::string("Throughput of the ") + (sync ? "mma.sync" : "wgmma") +
                 " instruction alone, operands in " + (sync ? "registers" : "shared memory") +
                 ": " + std::string(format),
         .work = "2 x M x N x K operations per instruction",
         .quantity = whole_numbers ? Quantity::kOpRate : Quantity::kFlopRate,
         .method_version = whole_numbers ? 2 : 1,  // v1 was in FLOP/s
         .loads = Loads::kCores,
         // Trains run at one of several clock steps; a median would jump between them.
         .estimate = Estimate::kTrimmedMean,
         .limit = compute_peak({unit.c_str()}),
         .ceilings = {{.resource = resource(unit),
                       .basis = Basis::kInstruction,
                       .counts = feeds_the_units}},
         .runs_on =
             [id](const DeviceFacts& device) { return !is_slower_twin(id, device.compute_major); },
         .points = {long_burst_point(quick)}},
        on_gpu([](auto& bench) { mma_rate(bench); }));
  }
}

}  // namespace peakline::bench

// What do the matrix instructions reach on their own? Operands in registers (mma.sync) or shared
// memory (wgmma), no other work.

#include "bench/mma_table.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/load_points.hpp"

namespace peakline::bench {

void mma_rate(CudaBench& bench);

namespace {

// mma.sync is the way to the Tensor Cores up to 8.9 and on 12.x; on 9.0 it is held against wgmma.
// On 10.x and 11.x only tcgen05, which is not measured here, feeds them fully, except in FP64: a
// rate from mma.sync alone would be a ceiling below what products reach.
bool feeds_the_units(const Measurement& m, const DeviceFacts* device) {
  const bool has_tcgen05 =
      device != nullptr && (device->compute_major == 10 || device->compute_major == 11);
  return !has_tcgen05 || m.id == "mma.sync.fp64";
}

}  // namespace

void register_mma(Registry& registry) {
  for (const auto& [id, format] : kMatrixInstructions) {
    // --quick has time for only one.
    const bool quick = id == "mma.wgmma.bf16";
    const bool sync = id.starts_with("mma.sync.");
    const bool whole_numbers = id.ends_with(".int8");
    const std::string unit = "tensor." + std::string(id.substr(id.rfind('.') + 1));
    registry.add({.id = std::string(id),
                  .what = std::string("Throughput of the ") + (sync ? "mma.sync" : "wgmma") +
                          " instruction alone, operands in " +
                          (sync ? "registers" : "shared memory") + ": " + std::string(format),
                  .work = "2 x M x N x K operations per instruction",
                  .quantity = whole_numbers ? Quantity::kOpRate : Quantity::kFlopRate,
                  .method_version = whole_numbers ? 2 : 1,  // 1 was in FLOP/s
                  .loads = Loads::kCores,
                  // The clock of trains lies at one of several steps; a median jumps between them.
                  .estimate = Estimate::kTrimmedMean,
                  .limit = compute_peak({unit.c_str()}),
                  .ceilings = {{.resource = resource(unit),
                                .basis = Basis::kInstruction,
                                .counts = feeds_the_units}},
                  .points = {long_burst_point(quick)}},
                 on_gpu([](auto& bench) { mma_rate(bench); }));
  }
}

}  // namespace peakline::bench

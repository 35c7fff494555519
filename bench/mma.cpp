// What do the matrix instructions reach on their own?

#include "bench/mma_table.hpp"
#include "bench/question.hpp"
#include "harness/benchmark/load_points.hpp"

namespace peakline::bench {

void mma_rate(CudaBench& bench);
void blackwell_mma_rate(CudaBench& bench);

namespace {

bool has_tcgen05(const DeviceFacts& device) {
  return device.compute_major == 10 || device.compute_major == 11;
}

// mma.sync is the way to the Tensor Cores up to 8.9 and on 12.x; on 9.0 it competes with wgmma. On
// 10.x and 11.x only tcgen05 feeds them fully, except in FP64 and, on 10.3, INT8: a ceiling from
// mma.sync alone would lie below what products reach.
bool feeds_the_units(const Measurement& m, const DeviceFacts* device) {
  if (device == nullptr || !has_tcgen05(*device) || !m.id.starts_with("mma.sync.")) return true;
  const bool is_10_3 = device->compute_major == 10 && device->compute_minor == 3;
  return m.id == "mma.sync.fp64" || (is_10_3 && m.id == "mma.sync.int8");
}

// The format's first name is the part of the unit that it runs on: "nvfp4" for "nvfp4_k96".
std::string unit_of_format(std::string_view format) {
  if (format.ends_with("_k96")) format.remove_suffix(4);
  return "tensor." + std::string(format);
}

void register_blackwell(Registry& registry) {
  for (const auto& [id, format] : kBlackwellInstructions) {
    const bool sync = id.starts_with("mma.sync.");
    const std::string unit = unit_of_format(id.substr(id.rfind('.') + 1));
    std::vector<Point> points;
    if (sync)
      points = {long_burst_point(false)};
    else
      points = points_over("sms", {1, 2}, long_burst_point(false));
    registry.add({.id = std::string(id),
                  .what = fmt::format("Throughput of the {} instruction alone, {}: {}",
                                      sync ? "mma.sync" : "tcgen05.mma",
                                      sync ? "operands and scales in registers"
                                           : "operands in shared memory, by one SM or two together",
                                      format),
                  .work = "2 x M x N x K operations per instruction",
                  .quantity = id.ends_with(".int8") ? Quantity::kOpRate : Quantity::kFlopRate,
                  .loads = Loads::kCores,
                  .estimate = Estimate::kTrimmedMean,
                  .limit = compute_peak({unit.c_str()}),
                  .ceilings = {{.resource = resource(unit), .basis = Basis::kInstruction}},
                  .runs_on =
                      [sync](const DeviceFacts& device) {
                        return sync ? device.compute_major >= 12 : has_tcgen05(device);
                      },
                  .never_run = true,
                  .points = std::move(points)},
                 on_gpu([](auto& bench) { blackwell_mma_rate(bench); }));
  }
}

}  // namespace

void register_mma(Registry& registry) {
  for (const auto& [id, format] : kMatrixInstructions) {
    // --quick has time for one.
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
                  .method_version = whole_numbers ? 2 : 1,  // v1 was in FLOP/s
                  .loads = Loads::kCores,
                  // Trains run at one of several clock steps; a median would jump between them.
                  .estimate = Estimate::kTrimmedMean,
                  .limit = compute_peak({unit.c_str()}),
                  .ceilings = {{.resource = resource(unit),
                                .basis = Basis::kInstruction,
                                .counts = feeds_the_units}},
                  .points = {long_burst_point(quick)}},
                 on_gpu([](auto& bench) { mma_rate(bench); }));
  }
  register_blackwell(registry);
}

}  // namespace peakline::bench

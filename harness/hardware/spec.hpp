#pragma once

// Theoretical peaks: what the architecture can do at a given clock. Unknown architectures and
// devices give nullopt, never a guess. FLOP counts an FMA as 2; matrix rates are dense.

#include <array>
#include <optional>
#include <string_view>

#include "harness/values/facts.hpp"

namespace peakline {

// The units of an SM whose peaks theory and datasheets state, by the names of their resources.
inline constexpr std::array<std::string_view, 10> kSmUnits = {
    "cuda_core.fp64", "cuda_core.fp32", "cuda_core.fp16", "tensor.fp64", "tensor.tf32",
    "tensor.fp16",    "tensor.bf16",    "tensor.fp8",     "tensor.int8", "tensor.fp4"};

// Resources whose Tensor Cores sum in FP32: GeForce parts do these at half the rate of professional
// ones.
inline constexpr std::array<std::string_view, 4> kSumsInFp32 = {"tensor.tf32", "tensor.fp16",
                                                                "tensor.bf16", "tensor.fp8"};

// Operations of one SM in one clock, FMA = 2 operations.
struct OpsPerClock {
  double ops = 0;
  // The compute capability alone does not tell GeForce from professional parts, whose rates differ;
  // `ops` is then the higher one, so that it still is a limit.
  bool uncertain = false;
};

// resource: one of kSmUnits, or what runs on one (Resource::peak_of). nullopt where the
// architecture has no such unit or is not in the table. Sources: the arithmetic throughput table of
// the CUDA C++ Programming Guide for CUDA cores, the architecture whitepapers for Tensor Cores.
std::optional<OpsPerClock> ops_per_clock_per_sm(int compute_major, int compute_minor,
                                                std::string_view resource);

// ops/clk/SM x SMs x clock, FLOP/s (or OP/s). nullopt where a factor is not known.
std::optional<double> theoretical_flops(const DeviceFacts& device, std::string_view resource,
                                        double clock_hz);

// Bytes that the L1 and the shared memory of an SM, which share a data path, move in one clock.
// nullopt where the architecture is not in the table. Sources: 32 banks of 4 bytes by the CUDA C++
// Programming Guide; half of that on 7.5 by the Ampere GA102 whitepaper.
std::optional<double> on_chip_bytes_per_clock_per_sm(int compute_major, int compute_minor);

// Results of one SM in one clock of an instruction (the `op` of instruction.throughput), each half
// of a packed pair for itself. nullopt where the source does not say: the table "Throughput of
// Native Arithmetic Instructions" of the CUDA C++ Programming Guide (12.9), since 13.0 in the Best
// Practices Guide; of ldmatrix, the bytes that shared memory delivers.
std::optional<double> results_per_clock_per_sm(int compute_major, int compute_minor,
                                               std::string_view op);

// The step between the SM clocks that the device can be set to, Hz: as the driver lists them, else
// as GPUs of its architecture have them. nullopt if neither is known.
std::optional<double> sm_clock_step(const DeviceFacts& device);

// The kind of memory of all GPUs of an architecture: "HBM", "GDDR", "LPDDR"; kAnyMemory if the
// architecture is unknown.
inline constexpr std::string_view kAnyMemory = "device memory";
std::string_view memory_name(const DeviceFacts& device);

// 2 x memory clock x bus width / 8, B/s: both edges of the clock carry data. nullopt for a MIG
// instance, and for a GPU that shares the host's memory: drivers state either the clock of LPDDR
// (4266 MHz of a Thor) or its transfers (8533 MHz of a GB10).
std::optional<double> theoretical_memory_bandwidth(const DeviceFacts& device);

// The payload rate of an NVLink of that version in one direction, B/s; nullopt for an unknown
// version. Source: NVIDIA's figures for all links of a GPU, over their number: 300 GB/s on 6 links
// of a V100, 600 on 12 of an A100, 900 on 18 of an H100, 1800 on 18 of a B200, both ways.
std::optional<double> nvlink_payload_bandwidth(int version);
// The same of each of a GPU's links, which carries no more than it says where it was trained down;
// nullopt where version or rate is not known.
std::optional<double> nvlink_payload_bandwidth(const NvLinks& links);

// Raw rate of a PCIe link after line coding, one direction, B/s: 8b/10b to generation 2,
// 128b/130b from 3 to 5, 242/256 FLITs at 6. nullopt for an unknown generation or a width that no
// link has. Packet headers and acknowledgements come on top: no transfer reaches it.
std::optional<double> pcie_raw_bandwidth(int generation, int width);

}  // namespace peakline

#pragma once

// Theoretical peaks of architectures at a given clock; nullopt for unknown architectures. FMA = 2
// FLOP; matrix rates are dense.

#include <array>
#include <optional>
#include <string_view>

#include "harness/values/facts.hpp"

namespace peakline {

// Resources of an SM with theoretical and datasheet peaks.
inline constexpr std::array<std::string_view, 10> kSmUnits = {
    "cuda_core.fp64", "cuda_core.fp32", "cuda_core.fp16", "tensor.fp64", "tensor.tf32",
    "tensor.fp16",    "tensor.bf16",    "tensor.fp8",     "tensor.int8", "tensor.fp4"};

// Tensor Core resources with FP32 sums, which run at half rate on GeForce parts.
inline constexpr std::array<std::string_view, 4> kSumsInFp32 = {"tensor.tf32", "tensor.fp16",
                                                                "tensor.bf16", "tensor.fp8"};

// Operations per clock and SM; FMA = 2.
struct OpsPerClock {
  double ops = 0;
  // The compute capability covers GeForce and professional parts with different rates; `ops` is the
  // higher one, an upper bound.
  bool uncertain = false;
};

// resource: one of kSmUnits, or one that has the peak of such a unit (Resource::peak_of). nullopt
// if the architecture is unknown or lacks the unit. Sources: arithmetic throughput table of the
// CUDA C++ Programming Guide for CUDA cores; architecture whitepapers for Tensor Cores.
std::optional<OpsPerClock> ops_per_clock_per_sm(int compute_major, int compute_minor,
                                                std::string_view resource);

// ops/clk/SM x SMs x clock, FLOP/s or OP/s. nullopt if a factor is unknown.
std::optional<double> theoretical_flops(const DeviceFacts& device, std::string_view resource,
                                        double clock_hz);

// Bytes per clock through an SM's L1 and shared memory, which share a data path. nullopt for an
// unknown architecture. Sources: 32 banks of 4 bytes (CUDA C++ Programming Guide); half on 7.5
// (Ampere GA102 whitepaper).
std::optional<double> on_chip_bytes_per_clock_per_sm(int compute_major, int compute_minor);

// Results per clock and SM of an instruction (`op` of instruction.throughput); each half of a
// packed pair counts. nullopt if undocumented. Source: "Throughput of Native Arithmetic
// Instructions", CUDA C++ Programming Guide 12.9, since 13.0 in the Best Practices Guide; for
// ldmatrix, shared memory's bandwidth.
std::optional<double> results_per_clock_per_sm(int compute_major, int compute_minor,
                                               std::string_view op);

// The step between settable SM clocks, Hz: the driver's, else the architecture's, if known.
std::optional<double> sm_clock_step(const DeviceFacts& device);

// "HBM", "GDDR" or "LPDDR", by architecture; kAnyMemory if unknown.
inline constexpr std::string_view kAnyMemory = "device memory";
std::string_view memory_name(const DeviceFacts& device);

// 2 x memory clock x bus width / 8, B/s (double data rate). nullopt for MIG instances and
// integrated GPUs, whose drivers state either the clock of LPDDR (Thor, 4266 MHz) or its transfer
// rate (GB10, 8533 MHz).
std::optional<double> theoretical_memory_bandwidth(const DeviceFacts& device);

// Payload rate of an NVLink version per direction, B/s; nullopt for unknown versions. Source:
// NVIDIA's totals in both directions: 300 GB/s on 6 links (V100), 600 on 12 (A100), 900 on 18
// (H100), 1800 on 18 (B200).
std::optional<double> nvlink_payload_bandwidth(int version);
// Payload rate of each of a GPU's links per direction, B/s: its version's, or the link's own if it
// was trained down. nullopt if version or rate is unknown.
std::optional<double> nvlink_payload_bandwidth(const NvLinks& links);

// Raw PCIe rate per direction after line coding, B/s: 8b/10b up to generation 2, 128b/130b for 3 to
// 5, 242/256 FLITs for 6. nullopt for unknown generations or widths. Headers and acknowledgements
// keep all transfers below it.
std::optional<double> pcie_raw_bandwidth(int generation, int width);

}  // namespace peakline

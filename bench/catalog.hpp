#pragma once

#include <string>

#include "harness/benchmark/registry.hpp"

namespace peakline::bench {

// One function per file, which registers the benchmarks of that file.
void register_host_memory(Registry& registry, int threads);
void register_host_fma(Registry& registry, int threads);
void register_host_roofline(Registry& registry, int threads);
void register_pcie(Registry& registry);
void register_launch(Registry& registry);
void register_hbm(Registry& registry);
void register_divergence(Registry& registry);
void register_alignment(Registry& registry);
void register_fma(Registry& registry);
void register_roofline(Registry& registry);
void register_mma(Registry& registry);
// soak_s: how long the soak lasts; 0: no soak.
void register_gemm(Registry& registry, double soak_s);
void register_gemm_shapes(Registry& registry);
void register_gemm_waves(Registry& registry);
void register_gemm_model(Registry& registry);

// The one list: everything above that is part of this build.
void register_all(Registry& registry, int threads, double soak_s);

// Version of the cuBLASLt in use, "13.0.2".
std::string cublaslt_version();

}  // namespace peakline::bench

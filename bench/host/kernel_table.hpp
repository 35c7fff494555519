#pragma once

// Shared by the translation units of the vector extensions (kernels_*.cpp). They and this header
// may use only types and constants of the standard library; kernels/host/fma.hpp says why.

#include "bench/host/kernels.hpp"
#include "kernels/host/fma.hpp"
#include "kernels/host/memory.hpp"
#include "kernels/host/sweep.hpp"

namespace peakline::bench {

// Constants, so that a translation unit holds no code but its kernels.
template <class Isa>
inline constexpr HostKernels kHostKernels = {
    .extension = Isa::kExtension,
    .fused = Isa::kFused,
    .streaming_stores = Isa::kStreamingStores,
    .fma_chains = Isa::kChains,
    .vector_bytes = sizeof(Isa::broadcast(0.0f)),
    .fma_fp32 = &kernels::fma_chains<Isa, float>,
    .fma_fp64 = &kernels::fma_chains<Isa, double>,
    .read_sum = &kernels::read_sum<Isa>,
    .copy = &kernels::copy<Isa>,
    .triad = &kernels::triad<Isa>,
    .sweep_fp32 = &kernels::sweep_fp32<Isa>,
};

extern const HostKernels kPortableKernels;
#if defined(__x86_64__)
extern const HostKernels kSse2Kernels;
extern const HostKernels kAvx2FmaKernels;
extern const HostKernels kAvx512fKernels;
#elif defined(__aarch64__)
extern const HostKernels kNeonKernels;
#endif

}  // namespace peakline::bench

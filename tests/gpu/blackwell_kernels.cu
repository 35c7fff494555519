// Every matrix kernel of compute capability 10.0 and later, for blackwell_sass_test.py.

#include <array>

#include "kernels/mma_scaled.cuh"
#include "kernels/tcgen05.cuh"

namespace peakline::kernels {

template <class... F>
constexpr std::array kScaled = {&mma_scaled_chains<F>...};
template <class... F>
constexpr std::array kSingle = {&tcgen05_chains<F>...};
template <class... F>
constexpr std::array kPairs = {&tcgen05_pairs<F>...};

void instantiate() {
  (void)kScaled<mma_scaled::Mxfp8, mma_scaled::Mxfp4, mma_scaled::Nvfp4>;
  (void)kSingle<tcgen05::Fp16, tcgen05::Bf16, tcgen05::Tf32, tcgen05::Fp8, tcgen05::Int8,
                tcgen05::Mxfp8, tcgen05::Mxfp4, tcgen05::Nvfp4, tcgen05::Nvfp4K96>;
  (void)kPairs<tcgen05::Fp16, tcgen05::Bf16, tcgen05::Tf32, tcgen05::Fp8, tcgen05::Int8,
               tcgen05::Mxfp8, tcgen05::Mxfp4, tcgen05::Nvfp4, tcgen05::Nvfp4K96>;
}

}  // namespace peakline::kernels

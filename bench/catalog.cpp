#include "bench/catalog.hpp"

namespace peakline::bench {

void register_all(Registry& registry, int threads, [[maybe_unused]] double soak_s) {
  register_host_memory(registry, threads);
  register_host_fma(registry, threads);
  register_host_roofline(registry, threads);
#ifdef PEAKLINE_HAS_CUDA
  register_pcie(registry);
  register_launch(registry);
  register_hbm(registry);
  register_divergence(registry);
  register_alignment(registry);
  register_roofline(registry);
  register_mma(registry);
  register_gemm(registry, soak_s);
  register_fma(registry);
  register_gemm_shapes(registry);
  register_gemm_waves(registry);
  register_gemm_model(registry);
#endif
}

}  // namespace peakline::bench

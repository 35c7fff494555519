#include "bench/catalog.hpp"

namespace peakline::bench {

void register_all(Registry& registry, const CatalogInput& input) {
  // One line per file: declares the file's registration function and calls it.
  // clang-format off
  { void register_host_memory(Registry&, int); register_host_memory(registry, input.threads); }
  { void register_host_fma(Registry&, int); register_host_fma(registry, input.threads); }
  { void register_host_roofline(Registry&, int); register_host_roofline(registry, input.threads); }
  { void register_host_storage(Registry&, bool); register_host_storage(registry, input.storage); }
  { void register_input(Registry&, bool); register_input(registry, input.storage); }
  { void register_pcie(Registry&); register_pcie(registry); }
  { void register_pcie_blocks(Registry&); register_pcie_blocks(registry); }
  { void register_p2p(Registry&, const std::vector<int>&); register_p2p(registry, input.gpus); }
  { void register_p2p_latency(Registry&, const std::vector<int>&); register_p2p_latency(registry, input.gpus); }
  { void register_p2p_concurrent(Registry&, const std::vector<int>&); register_p2p_concurrent(registry, input.gpus); }
  { void register_pcie_concurrent(Registry&, const std::vector<int>&); register_pcie_concurrent(registry, input.gpus); }
  { void register_sms_on_links(Registry&, const std::vector<int>&); register_sms_on_links(registry, input.gpus); }
  { void register_nccl(Registry&, const std::vector<int>&); register_nccl(registry, input.gpus); }
  { void register_all_reduce(Registry&, const std::vector<int>&); register_all_reduce(registry, input.gpus); }
  { void register_allocation(Registry&); register_allocation(registry); }
  { void register_launch(Registry&); register_launch(registry); }
  { void register_overlap(Registry&); register_overlap(registry); }
  { void register_synchronization(Registry&); register_synchronization(registry); }
  { void register_fusion(Registry&); register_fusion(registry); }
  { void register_hbm(Registry&, const std::vector<int>&); register_hbm(registry, input.gpus); }
  { void register_cache(Registry&); register_cache(registry); }
  { void register_l2(Registry&); register_l2(registry); }
  { void register_shared(Registry&); register_shared(registry); }
  { void register_copy(Registry&); register_copy(registry); }
  { void register_layout(Registry&); register_layout(registry); }
  { void register_update(Registry&); register_update(registry); }
  { void register_latency(Registry&); register_latency(registry); }
  { void register_occupancy(Registry&); register_occupancy(registry); }
  { void register_sms(Registry&); register_sms(registry); }
  { void register_random(Registry&); register_random(registry); }
  { void register_divergence(Registry&); register_divergence(registry); }
  { void register_alignment(Registry&); register_alignment(registry); }
  { void register_instruction(Registry&); register_instruction(registry); }
  { void register_atomics(Registry&); register_atomics(registry); }
  { void register_roofline(Registry&); register_roofline(registry); }
  { void register_mma(Registry&); register_mma(registry); }
  { void register_gemm(Registry&, double); register_gemm(registry, input.soak_s); }
  { void register_fma(Registry&); register_fma(registry); }
  { void register_gemm_size(Registry&); register_gemm_size(registry); }
  { void register_gemm_shapes(Registry&); register_gemm_shapes(registry); }
  { void register_gemm_waves(Registry&); register_gemm_waves(registry); }
  { void register_gemm_model(Registry&); register_gemm_model(registry); }
  { void register_gemm_grouped(Registry&); register_gemm_grouped(registry); }
  { void register_gemm_concurrent(Registry&, const std::vector<int>&); register_gemm_concurrent(registry, input.gpus); }
  { void register_beside(Registry&, const std::vector<int>&); register_beside(registry, input.gpus); }
  { void register_energy(Registry&, bool, const std::vector<int>&); register_energy(registry, input.energy, input.gpus); }
  { void register_soak(Registry&, double, const std::vector<int>&); register_soak(registry, input.verified_soak_s, input.gpus); }
  // clang-format on
}

}  // namespace peakline::bench

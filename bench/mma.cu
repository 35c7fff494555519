#include "bench/mma_work.cuh"
#include "kernels/mma.cuh"
#include "kernels/wgmma.cuh"

namespace peakline::bench {
namespace {

template <class F>
void mma_sync_rate(CudaBench& bench) {
  using Tile = kernels::MmaTile<F>;
  constexpr auto kKernel = kernels::mma_chains<F>;
  measure_mma<Tile, kKernel>(bench,
                             blocks_per_sm<kKernel>(bench, &F::exists, Tile::kThreads, "mma.sync"));
}

template <class F>
void wgmma_rate(CudaBench& bench) {
  using Tile = kernels::WgmmaTile<F>;
  constexpr auto kKernel = kernels::wgmma_chains<F>;
  measure_mma<Tile, kKernel>(
      bench, blocks_per_sm<kKernel>(bench, &kernels::wgmma::exists, Tile::kThreads, "wgmma"));
}

struct Rate {
  std::string_view id;
  void (*measure)(CudaBench&);
};
namespace sync = kernels::mma_sync;
namespace wgmma = kernels::wgmma;
constexpr std::array kRates = {Rate{"mma.sync.fp16", mma_sync_rate<sync::Fp16>},
                               Rate{"mma.sync.fp16_acc16", mma_sync_rate<sync::Fp16Acc16>},
                               Rate{"mma.sync.bf16", mma_sync_rate<sync::Bf16>},
                               Rate{"mma.sync.tf32", mma_sync_rate<sync::Tf32>},
                               Rate{"mma.sync.fp64", mma_sync_rate<sync::Fp64>},
                               Rate{"mma.sync.int8", mma_sync_rate<sync::Int8>},
                               Rate{"mma.sync.fp8", mma_sync_rate<sync::Fp8>},
                               Rate{"mma.wgmma.fp16", wgmma_rate<wgmma::Fp16>},
                               Rate{"mma.wgmma.fp16_acc16", wgmma_rate<wgmma::Fp16Acc16>},
                               Rate{"mma.wgmma.bf16", wgmma_rate<wgmma::Bf16>},
                               Rate{"mma.wgmma.tf32", wgmma_rate<wgmma::Tf32>},
                               Rate{"mma.wgmma.fp8", wgmma_rate<wgmma::Fp8>},
                               Rate{"mma.wgmma.int8", wgmma_rate<wgmma::Int8>}};
static_assert(std::ranges::equal(kRates, kMatrixInstructions, {}, &Rate::id,
                                 &MatrixInstruction::id));

}  // namespace

void mma_rate(CudaBench& bench) {
  std::ranges::find(kRates, bench.record().id, &Rate::id)->measure(bench);
}

}  // namespace peakline::bench

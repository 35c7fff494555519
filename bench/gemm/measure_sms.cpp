#include <optional>
#include <string>
#include <vector>

#include "bench/gemm/measure_shapes.hpp"
#include "bench/sms.hpp"
#include "harness/cuda/sm_partition.hpp"

namespace peakline::bench {
namespace {

// It has so many tiles that a last, partial wave counts little, whichever number of SMs takes part.
constexpr GemmShape kShape{.m = 8192, .n = 8192, .k = 4096};

// Runs launches on the SMs of a partition, as a part of another stream's work.
class Detour {
 public:
  explicit Detour(unsigned sms) try : partition_(sms) {
  } catch (const cuda::NotPartitioned& refused) {
    throw Skipped(refused.what());
  }
  unsigned sms() const { return partition_.sms(); }
  CudaBench::Launch operator()(const CudaBench::Launch& launch) const {
    constexpr std::int64_t kOperations = 4;
    return {[this, launch](cudaStream_t stream) {
              begin_.record(stream);
              PEAKLINE_CUDA(cudaStreamWaitEvent(partition_.stream(), begin_.get()));
              launch(partition_.stream());
              end_.record(partition_.stream());
              PEAKLINE_CUDA(cudaStreamWaitEvent(stream, end_.get()));
            },
            {.operations = launch.operations + kOperations}};
  }

 private:
  cuda::SmPartition partition_;
  cuda::Event begin_{cudaEventDisableTiming}, end_{cudaEventDisableTiming};
};

}  // namespace

void sms_gemm(CudaBench& bench) {
  const unsigned wanted = sms_of(bench);
  std::optional<Detour> detour;
  if (wanted < bench.sm_count()) detour.emplace(wanted);
  const unsigned sms = detour ? detour->sms() : wanted;
  const GemmFormat& format = soak_format(bench.device());
  const Product product(bench, format, kShape, sms);
  bench.note("sms", std::int64_t{sms});
  bench.note("format", std::string(format.name));
  const std::vector<GemmAlgorithm> algorithms =
      product.gemm().algorithms(bench.sampler().repeats(kSweepAlgorithms));
  if (algorithms.empty()) throw Skipped("cuBLASLt has no algorithm for " + kShape.name());
  const auto launch_of = [&](const GemmAlgorithm& algorithm) {
    const CudaBench::Launch launch = product.launch(algorithm);
    return detour ? (*detour)(launch) : launch;
  };
  const std::size_t best =
      bench
          .rank(algorithms.size(), [&](std::size_t i) { return launch_of(algorithms[i]); },
                kSweepSearchSeconds, {.in_cycles = true})
          .front();
  product.prepare(bench, algorithms[best]);
  bench.measure(product.work(), launch_of(algorithms[best]));
}

}  // namespace peakline::bench

// What do matrix products reach? cuBLASLt over shapes and algorithms; the best, from rest and under
// lasting load.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>

#include "bench/cublaslt.hpp"
#include "bench/cuda_bench.hpp"
#include "bench/gemm_data.hpp"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;

constexpr int kAlgorithms = 8;
constexpr double kSearchSeconds = 0.25;
// Square, wide, tall, deep; from a wave or two of tiles to hundreds.
constexpr std::array<std::array<std::int64_t, 3>, 10> kShapes{{{4096, 4096, 4096},
                                                               {4096, 16384, 4096},
                                                               {8192, 8192, 4096},
                                                               {4096, 4096, 16384},
                                                               {16384, 4096, 4096},
                                                               {2048, 2048, 2048},
                                                               {6144, 6144, 6144},
                                                               {8192, 4096, 8192},
                                                               {8192, 8192, 8192},
                                                               {16384, 8192, 8192}}};
// --quick looks at the first of them only.
constexpr std::size_t kShapesQuick = 4;
// A train from rest is 5 launches in at most 15 ms, so only shapes this short can be in one.
constexpr double kLongestInTrainSeconds = 3e-3;
// Shapes that come this close to the best by the search are tried from rest before one is chosen.
constexpr std::size_t kFinalists = 3;
constexpr std::size_t kFinalistsQuick = 2;
constexpr int kFinalTrains = 2;
constexpr double kFinalRestSeconds = 0.1;

constexpr std::size_t kSampledElements = 256;

template <class T, class Out, cublasComputeType_t kComputeType>
struct Format {
  using Input = T;
  using Output = Out;
  static constexpr cublasComputeType_t kCompute = kComputeType;
  // Without Tensor Cores the same shapes would take ten times as long; half of each side does.
  static constexpr std::int64_t kShrink =
      kComputeType == CUBLAS_COMPUTE_32F && std::is_same_v<T, float> ? 2 : 1;
};
using Fp32 = Format<float, float, CUBLAS_COMPUTE_32F>;
using Tf32 = Format<float, float, CUBLAS_COMPUTE_32F_FAST_TF32>;
using Bf16 = Format<__nv_bfloat16, __nv_bfloat16, CUBLAS_COMPUTE_32F>;
using Fp16 = Format<__half, __half, CUBLAS_COMPUTE_32F>;

template <class T>
constexpr cudaDataType_t kDataType = CUDA_R_32F;
template <>
constexpr cudaDataType_t kDataType<__half> = CUDA_R_16F;
template <>
constexpr cudaDataType_t kDataType<__nv_bfloat16> = CUDA_R_16BF;

// Half an ulp of a number of size 1: what rounding the output costs.
template <class T>
constexpr double kRounding = 0x1p-24;
template <>
constexpr double kRounding<__half> = 0x1p-11;
template <>
constexpr double kRounding<__nv_bfloat16> = 0x1p-8;

// Rounding of each product: TF32 keeps 10 bits of the inputs' significands, the others all.
template <class F>
constexpr double kProductRounding = F::kCompute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 0x1p-10 : 0.0;
// Tensor Cores add up aligned products with fewer bits than FP32 has; as a share of one product.
constexpr double kAccumulationRounding = 0x1p-13;
// Errors add up like a random walk; this many standard deviations never happen by chance.
constexpr double kDeviations = 8;

std::shared_ptr<CublasLt> cublaslt(CudaBench& bench) {
  return bench.remember<std::shared_ptr<CublasLt>>("cublaslt",
                                                   [] { return std::make_shared<CublasLt>(); });
}

template <class F>
GemmShape shape_of(std::size_t index) {
  const auto [m, n, k] = kShapes[index];
  return {.m = m / F::kShrink, .n = n / F::kShrink, .k = k / F::kShrink};
}

// The operands of one shape and the products over them.
template <class F>
class Product {
 public:
  Product(CudaBench& bench, const GemmShape& shape)
      : lt_(cublaslt(bench)),
        gemm_(*lt_,
              {.input = kDataType<typename F::Input>,
               .output = kDataType<typename F::Output>,
               .compute = F::kCompute},
              shape),
        a_(normal_matrix<typename F::Input>(static_cast<std::size_t>(shape.m * shape.k),
                                            bench.seed())),
        b_(normal_matrix<typename F::Input>(static_cast<std::size_t>(shape.n * shape.k),
                                            bench.seed() + 1)),
        d_(static_cast<std::size_t>(shape.m * shape.n)),
        algorithms_(gemm_.algorithms(kAlgorithms)) {}

  std::size_t algorithm_count() const { return algorithms_.size(); }
  const cublasLtMatmulAlgo_t& algorithm(std::size_t i) const { return algorithms_[i]; }

  CudaBench::Launch launch(std::size_t algorithm) const {
    return [this, algorithm](cudaStream_t stream) {
      gemm_.launch(algorithms_[algorithm], a_.data(), b_.data(), d_.data(), stream);
    };
  }

  // Sampled elements against the same sums in FP64.
  std::string what_is_wrong(CudaBench& bench, std::size_t algorithm) const {
    const GemmShape& shape = gemm_.shape();
    PEAKLINE_CUDA(cudaMemsetAsync(d_.data(), 0xff, d_.size() * sizeof(typename F::Output),
                                  bench.stream()));  // NaNs
    bench.launch_once(launch(algorithm));
    std::vector<std::int64_t> rows{0, shape.m - 1}, columns{0, shape.n - 1};  // corners, too
    std::mt19937_64 random(bench.seed());
    std::uniform_int_distribution<std::int64_t> any_row(0, shape.m - 1), any_column(0, shape.n - 1);
    while (rows.size() < kSampledElements) {
      rows.push_back(any_row(random));
      columns.push_back(any_column(random));
    }
    const std::vector<double> expected = reference_elements(a_, b_, shape.k, rows, columns);
    const double deviation =
        std::sqrt(static_cast<double>(shape.k)) * (kProductRounding<F> + kAccumulationRounding);
    for (std::size_t s = 0; s < kSampledElements; ++s) {
      const auto index = static_cast<std::size_t>(rows[s] + columns[s] * shape.m);
      const double found = static_cast<double>(static_cast<float>(d_.to_host(index, 1)[0]));
      const double allowed =
          kDeviations * deviation + 2 * kRounding<typename F::Output> * std::abs(expected[s]);
      if (!(std::abs(found - expected[s]) <= allowed))
        return "element (" + std::to_string(rows[s]) + ", " + std::to_string(columns[s]) + ") is " +
               std::to_string(found) + ", not " + std::to_string(expected[s]) + " +- " +
               std::to_string(allowed);
    }
    return "";
  }

 private:
  std::shared_ptr<CublasLt> lt_;
  Gemm gemm_;
  DeviceBuffer<typename F::Input> a_, b_;
  DeviceBuffer<typename F::Output> d_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
};

// What the search over the algorithms of one shape found.
struct BestAlgorithm {
  std::size_t algorithm = 0;
  double launch_s = 0;
  double flops_per_cycle = 0;  // by the clock observed: fair between shapes, whenever timed
};

template <class F>
BestAlgorithm best_algorithm(CudaBench& bench, const Product<F>& product, const GemmShape& shape) {
  return bench.remember<BestAlgorithm>(bench.record().id + shape.name(), [&]() -> BestAlgorithm {
    if (product.algorithm_count() == 0)
      throw Skipped("cuBLASLt has no algorithm for this format on this device");
    const std::size_t best =
        bench.search(product.algorithm_count(), [&](std::size_t i) { return product.launch(i); },
                     kSearchSeconds, {.in_cycles = true});
    const CudaBench::TimeAtClock timed = bench.time_with_clock(product.launch(best));
    return {.algorithm = best,
            .launch_s = timed.launch_s,
            .flops_per_cycle = shape.flops() / (timed.launch_s * timed.sm_clock_hz)};
  });
}

template <class F>
void measure_product(CudaBench& bench, const Product<F>& product, const GemmShape& shape,
                     std::size_t algorithm) {
  bench.verify([&] { return product.what_is_wrong(bench, algorithm); });
  bench.chose("algorithm", describe(product.algorithm(algorithm)));
  bench.chose("layout", std::string("TN"));
  const double a_and_b = static_cast<double>(shape.m + shape.n) * static_cast<double>(shape.k);
  bench.measure({.bytes_read = a_and_b * sizeof(typename F::Input),
                 .bytes_written = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                                  sizeof(typename F::Output),
                 .flops = shape.flops()},
                product.launch(algorithm));
}

template <class F>
void gemm_shape(CudaBench& bench, std::size_t index) {
  const GemmShape shape = shape_of<F>(index);
  const Product<F> product(bench, shape);
  const BestAlgorithm best = best_algorithm(bench, product, shape);
  measure_product(bench, product, shape, best.algorithm);
}

// The shape that is fastest from rest, of those that the search ranks highest.
template <class F>
std::size_t best_shape(CudaBench& bench) {
  std::vector<std::pair<double, std::size_t>> ranked;
  const bool quick = bench.options().quick;
  for (std::size_t i = 0; i < (quick ? kShapesQuick : kShapes.size()); ++i) {
    const GemmShape shape = shape_of<F>(i);
    const Product<F> product(bench, shape);
    const BestAlgorithm best = best_algorithm(bench, product, shape);
    if (best.launch_s <= kLongestInTrainSeconds) ranked.emplace_back(best.flops_per_cycle, i);
  }
  if (ranked.empty()) throw Skipped("every shape takes longer than a train may last");
  std::sort(ranked.rbegin(), ranked.rend());
  ranked.resize(std::min(ranked.size(), quick ? kFinalistsQuick : kFinalists));
  double best_rate = 0;
  std::size_t best = ranked.front().second;
  for (const auto& [rate, index] : ranked) {
    const GemmShape shape = shape_of<F>(index);
    const Product<F> product(bench, shape);
    const std::size_t algorithm = best_algorithm(bench, product, shape).algorithm;
    const double train_s =
        bench.time_trains(product.launch(algorithm), kFinalTrains, kFinalRestSeconds);
    if (shape.flops() / train_s > best_rate) {
      best_rate = shape.flops() / train_s;
      best = index;
    }
  }
  return best;
}

template <class F>
void gemm_load(CudaBench& bench) {
  const auto index = bench.remember<std::size_t>(bench.record().id + ".best_shape",
                                                 [&] { return best_shape<F>(bench); });
  const GemmShape shape = shape_of<F>(index);
  const Product<F> product(bench, shape);
  const BestAlgorithm best = best_algorithm(bench, product, shape);
  bench.chose("shape", shape.name());
  measure_product(bench, product, shape, best.algorithm);
}

template <class F>
void gemm(CudaBench& bench) {
  const auto shape = bench.find_text("shape");
  if (!shape) return gemm_load<F>(bench);
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    if (shape_of<F>(i).name() == *shape) return gemm_shape<F>(bench, i);
  throw std::logic_error("no such shape: " + *shape);
}

template <class F>
std::vector<Point> gemm_points() {
  std::vector<Point> points;
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    points.push_back({.params = {{"shape", shape_of<F>(i).name()}},
                      .phase = Phase::kDevice,
                      .rule = Rule::kCurve,
                      .quick = false,
                      .seconds = 0.25});
  for (Point& point : load_points()) {
    point.quick = point.quick && !std::is_same_v<F, Fp32>;  // the one that Tensor Cores replace
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

void register_gemm(Registry& registry) {
  const auto add = [&]<class F>(F, const char* id, const char* what) {
    registry.add({.id = id,
                  .what = what,
                  .work = "2 x M x N x K FLOP a product",
                  .quantity = Quantity::kFlopRate,
                  .points = gemm_points<F>()},
                 on_device(gemm<F>));
  };
  add(Fp32{}, "gemm.fp32", "FP32 matrix products by cuBLASLt, no Tensor Cores");
  add(Tf32{}, "gemm.tf32",
      "FP32 matrices multiplied as TF32 on Tensor Cores, FP32 accumulation and output");
  add(Bf16{}, "gemm.bf16", "BF16 matrix products on Tensor Cores, FP32 accumulation, BF16 output");
  add(Fp16{}, "gemm.fp16", "FP16 matrix products on Tensor Cores, FP32 accumulation, FP16 output");
}

}  // namespace peakline::bench

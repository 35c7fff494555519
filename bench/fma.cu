#include <array>
#include <cmath>
#include <utility>

#include "harness/benchmark/cuda_data.cuh"
#include "kernels/fma.cuh"

namespace peakline::bench {
namespace {

using cuda::DeviceBuffer;
using kernels::kFmaChains;
using kernels::kFmaUnroll;

// Long enough that launch overhead is negligible, short enough for five launches in a train.
constexpr double kLaunchSeconds = 2e-3;
constexpr int kCalibrationTrips = 64;
constexpr double kSearchSeconds = 0.3;
// Enough trips to expose a wrong or missing FMA anywhere in the unrolled loop.
constexpr int kVerifiedTrips = 2;

struct Shape {
  unsigned threads, blocks_per_sm;
};
constexpr std::array<Shape, 8> kShapes{
    {{128, 4}, {128, 8}, {256, 2}, {256, 4}, {256, 8}, {512, 2}, {512, 4}, {1024, 2}}};
constexpr unsigned kMaxThreadsPerSm = 2048;

template <class T>
struct Format;  // conversions to and from T, and its FMA on the host
template <>
struct Format<float> {
  static constexpr double kA = kFmaFactor;
  static constexpr int kElements = 1;
  static float from(double value) { return static_cast<float>(value); }
  static std::array<double, 1> to(float value) { return {value}; }
  static double fma(double x, double a, double b) {
    return std::fma(static_cast<float>(x), static_cast<float>(a), static_cast<float>(b));
  }
  static double round(double x) { return static_cast<float>(x); }
};
template <>
struct Format<double> {
  static constexpr double kA = kFmaFactor;
  static constexpr int kElements = 1;
  static double from(double value) { return value; }
  static std::array<double, 1> to(double value) { return {value}; }
  static double fma(double x, double a, double b) { return std::fma(x, a, b); }
  static double round(double x) { return x; }
};
template <>
struct Format<__half2> {
  static constexpr double kA = -(1 - 0x1p-11);  // kFmaFactor would round to -1
  static constexpr int kElements = 2;
  static __half2 from(double value) { return __half2half2(__double2half(value)); }
  static std::array<double, 2> to(__half2 value) {
    return {__half2float(__low2half(value)), __half2float(__high2half(value))};
  }
  // Products and sums of halves (11-bit significands) are exact in FP64, so that the only rounding
  // is the one to half, as in an FMA.
  static double fma(double x, double a, double b) { return round(x * a + b); }
  static double round(double x) { return __half2float(__double2half(x)); }
};

template <class T>
class FmaWork {
 public:
  explicit FmaWork(CudaBench& bench) : bench_(bench) {
    std::vector<T> start, scale;
    for (int i = 0; i < 32; ++i) {
      start_[i] = Format<T>::round(0.75 + 0.5 * kernels::unit_interval(static_cast<std::uint32_t>(
                                                    kernels::random_bits(bench.seed(), i))));
      start.push_back(Format<T>::from(start_[i]));
    }
    for (int c = 0; c < kFmaChains; ++c) scale.push_back(Format<T>::from(c + 1));
    start_data_.from_host(start);
    scale_data_.from_host(scale);
    out_ = DeviceBuffer<T>(static_cast<std::size_t>(bench.sm_count()) * kMaxThreadsPerSm * 2);
  }

  unsigned threads(const Shape& shape) const {
    return bench_.sm_count() * shape.blocks_per_sm * shape.threads;
  }
  double flops(const Shape& shape, int trips) const {
    return 2.0 * threads(shape) * Format<T>::kElements * kFmaChains * kFmaUnroll * trips;
  }

  CudaBench::Launch launch(const Shape& shape, int trips) const {
    const auto enqueue = [this, shape, trips](cudaStream_t stream) {
      kernels::fma_chains<T><<<bench_.sm_count() * shape.blocks_per_sm, shape.threads, 0, stream>>>(
          start_data_.data(), Format<T>::from(Format<T>::kA), Format<T>::from(kFmaAddend),
          scale_data_.data(), out_.data(), trips);
    };
    return enqueue;
  }

  std::string find_mismatch(const Shape& shape, int trips) const {
    poison(out_, bench_.stream());
    bench_.launch_once(launch(shape, trips));
    std::array<double, 32> expected{};
    const double addend = Format<T>::round(kFmaAddend);
    for (int i = 0; i < 32; ++i) {
      for (int c = 0; c < kFmaChains; ++c) {
        double x = Format<T>::round(start_[i] * (c + 1));
        for (int step = 0; step < trips * kFmaUnroll; ++step)
          x = Format<T>::fma(x, Format<T>::kA, addend);
        expected[i] = c == 0 ? x : Format<T>::round(expected[i] + x);
      }
    }
    const std::vector<T> found = out_.to_host(0, threads(shape));
    for (std::size_t thread = 0; thread < found.size(); ++thread)
      for (const double value : Format<T>::to(found[thread]))
        if (value != expected[thread % 32])
          return "thread " + std::to_string(thread) + " has " + std::to_string(value) + ", not " +
                 std::to_string(expected[thread % 32]);
    return "";
  }

 private:
  CudaBench& bench_;
  std::array<double, 32> start_{};
  DeviceBuffer<T> start_data_{32}, scale_data_{kFmaChains}, out_;
};

template <class T>
void measure_fma(CudaBench& bench) {
  const FmaWork<T> work(bench);
  const auto [shape, trips] = bench.remember<std::pair<Shape, int>>(bench.record().id, [&] {
    const Shape best = kShapes[bench.search(
        kShapes.size(), [&](std::size_t i) { return work.launch(kShapes[i], kCalibrationTrips); },
        kSearchSeconds,
        {.work_of = [&](std::size_t i) { return static_cast<double>(work.threads(kShapes[i])); },
         .in_cycles = true})];
    const double calibration_s = bench.time_roughly(work.launch(best, kCalibrationTrips));
    return std::pair(
        best, std::max(1, static_cast<int>(kCalibrationTrips * kLaunchSeconds / calibration_s)));
  });
  bench.verify([&, shape = shape] { return work.find_mismatch(shape, kVerifiedTrips); });
  bench.note("blocks_per_sm", static_cast<std::int64_t>(shape.blocks_per_sm));
  bench.note("threads", static_cast<std::int64_t>(shape.threads));
  bench.note("chains", std::int64_t{kFmaChains});
  bench.note("trips", static_cast<std::int64_t>(trips));
  bench.measure({.flops = work.flops(shape, trips)}, work.launch(shape, trips));
}

}  // namespace

void fma_fp32(CudaBench& bench) { measure_fma<float>(bench); }
void fma_fp64(CudaBench& bench) { measure_fma<double>(bench); }
void fma_fp16(CudaBench& bench) { measure_fma<__half2>(bench); }

}  // namespace peakline::bench

// Products of the matrix instructions against the host's, and their rates against the limits.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <type_traits>

#include "harness/benchmark/cuda_bench.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/sampler.hpp"
#include "harness/hardware/spec.hpp"
#include "harness/statistics/statistics.hpp"
#include "kernels/mma.cuh"
#include "kernels/wgmma.cuh"
#include "tests/gpu/support.cuh"

namespace peakline {
namespace {

using cuda::DeviceBuffer;

template <class T>
double as_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

template <class T>
T from(double value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return static_cast<T>(static_cast<float>(value));
}

template <class Tile, auto kKernel>
class Launch {
 public:
  using Input = typename Tile::Format::Input;
  using Output = typename Tile::Format::Output;
  using Word = typename Tile::Word;
  static constexpr int kElements = Tile::kM * Tile::kN;

  Launch(unsigned sms, unsigned blocks_per_sm)
      : sms_(sms), blocks_per_sm_(blocks_per_sm), d_(std::size_t{sms} * tiles() * kElements) {}

  std::size_t tiles() const { return std::size_t{blocks_per_sm_} * Tile::kPerBlock; }
  double operations(int trips) const {
    return 2.0 * kElements * Tile::kK * Tile::kPasses * trips * static_cast<double>(tiles()) * sms_;
  }

  template <class Value>
  void fill(Value value) {
    a_.resize(tiles() * Tile::kM * Tile::kK);
    b_.resize(tiles() * Tile::kN * Tile::kK);
    for (Input& x : a_) x = from<Input>(value());
    for (Input& x : b_) x = from<Input>(value());
    upload();
  }

  // Makes A x B zero: the second half of A's rows is the first one negated, B's repeats the first.
  void cancel() {
    const auto repeat = [](std::vector<Input>& rows, double sign) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (i % Tile::kK >= Tile::kK / 2)
          rows[i] = from<Input>(sign * as_double(rows[i - Tile::kK / 2]));
    };
    repeat(a_, -1);
    repeat(b_, 1);
    upload();
  }

  cuda::Launch launch(int trips) const {
    return [this, trips](cudaStream_t stream) {
      kKernel<<<dim3(sms_, blocks_per_sm_), Tile::kThreads, 0, stream>>>(
          reinterpret_cast<const Word*>(a_data_.data()),
          reinterpret_cast<const Word*>(b_data_.data()), reinterpret_cast<Word*>(d_.data()), trips);
    };
  }

  std::vector<Output> run(int trips) const {
    PEAKLINE_CUDA(cudaMemset(d_.data(), 0xff, d_.size() * sizeof(Output)));
    launch(trips)(nullptr);
    PEAKLINE_CUDA(cudaGetLastError());
    return d_.to_host();
  }

  // A x B of one tile, and the sum of its terms' absolute values.
  struct Sums {
    std::vector<double> product, sizes;
  };
  Sums sums(std::size_t tile) const {
    Sums sums;
    for (int m = 0; m < Tile::kM; ++m)
      for (int n = 0; n < Tile::kN; ++n) {
        double product = 0, sizes = 0;
        for (int k = 0; k < Tile::kK; ++k) {
          const double term = as_double(a_[(tile * Tile::kM + m) * Tile::kK + k]) *
                              as_double(b_[(tile * Tile::kN + n) * Tile::kK + k]);
          product += term;
          sizes += std::abs(term);
        }
        sums.product.push_back(product);
        sums.sizes.push_back(sizes);
      }
    return sums;
  }

 private:
  void upload() {
    a_data_ = on_device(a_);
    b_data_ = on_device(b_);
  }

  unsigned sms_, blocks_per_sm_;
  std::vector<Input> a_, b_;
  DeviceBuffer<Input> a_data_, b_data_;
  DeviceBuffer<Output> d_;
};

// Why the kernel cannot run here; empty if it can.
template <auto kKernel>
std::string missing(const DeviceFacts& device, bool (*exists)(int version)) {
  if (!exists(device.compute_major * 10 + device.compute_minor)) return "no such instruction here";
  cudaFuncAttributes attributes{};
  PEAKLINE_CUDA(cudaFuncGetAttributes(&attributes, kKernel));
  return exists(attributes.binaryVersion) ? "" : "not in this build";
}

template <class Tile, auto kKernel>
unsigned blocks_that_fit() {
  int blocks = 0;
  PEAKLINE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kKernel, Tile::kThreads, 0));
  return static_cast<unsigned>(blocks);
}

// Sums of integers are exact, so that any misplaced element and any extra step shows.
template <class Tile, auto kKernel>
void expect_exact_products(unsigned sms) {
  std::mt19937 random(1);
  const auto integer = [&] { return std::uniform_int_distribution<int>(-2, 2)(random); };
  for (const unsigned blocks : {1u, blocks_that_fit<Tile, kKernel>()}) {
    Launch<Tile, kKernel> launch(sms, blocks);
    launch.fill(integer);
    for (const int trips : {0, 1, 2}) {
      const auto found = launch.run(trips);
      std::size_t wrong = 0;
      std::string first;
      for (std::size_t tile = 0; tile < launch.tiles(); ++tile) {
        const auto expected = launch.sums(tile).product;
        for (std::size_t sm = 0; sm < sms; ++sm)
          for (std::size_t i = 0; i < expected.size(); ++i) {
            const double is = as_double(found[(sm * launch.tiles() + tile) * expected.size() + i]);
            const double should_be = expected[i] * Tile::kPasses * trips;
            if (is == should_be) continue;
            if (wrong++ == 0)
              first = "SM " + std::to_string(sm) + " tile " + std::to_string(tile) + " row " +
                      std::to_string(i / Tile::kN) + " column " + std::to_string(i % Tile::kN) +
                      " is " + std::to_string(is) + ", not " + std::to_string(should_be);
          }
      }
      EXPECT_EQ(wrong, 0u) << "of " << found.size() << " elements, " << blocks << " blocks, "
                           << trips << " trips; first: " << first;
    }
  }
}

// Normal numbers: within `tolerance` of the terms' sizes. With products that cancel, sums stay
// small for as long as a measurement lasts.
template <class Tile, auto kKernel>
void expect_normal_products(unsigned sms, double tolerance) {
  constexpr double kDeviation = std::is_integral_v<typename Tile::Format::Input> ? 30 : 1;
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  Launch<Tile, kKernel> launch(sms, 1);
  launch.fill([&] { return std::clamp(kDeviation * normal(random), -127.0, 127.0); });
  auto found = launch.run(1);
  double worst = 0;
  for (std::size_t tile = 0; tile < launch.tiles(); ++tile) {
    const auto sums = launch.sums(tile);
    for (std::size_t i = 0; i < sums.product.size(); ++i) {
      const double error =
          as_double(found[tile * sums.product.size() + i]) - sums.product[i] * Tile::kPasses;
      const double share = std::abs(error) / (sums.sizes[i] * Tile::kPasses);
      worst = std::isnan(share) ? INFINITY : std::max(worst, share);
    }
  }
  std::printf("  normal data: error up to %.3g of the sum of |a b|, %.3g allowed\n", worst,
              tolerance);
  EXPECT_LE(worst, tolerance);

  launch.cancel();
  constexpr int kManyTrips = 4000;
  found = launch.run(kManyTrips);
  double largest = 0;
  for (const auto& x : found) {
    const double size = std::abs(as_double(x));
    largest = std::isnan(size) ? INFINITY : std::max(largest, size);
  }
  std::printf("  cancelling data: |d| up to %.3g after %d trips\n", largest, kManyTrips);
  EXPECT_LT(largest, 30000) << "sums run away during a measurement";
}

template <class Tile, auto kKernel>
void expect_rate(const DeviceFacts& device, const char* resource, double least_share) {
  const auto sms = static_cast<unsigned>(*device.sm_count);
  constexpr double kDeviation = std::is_integral_v<typename Tile::Format::Input> ? 30 : 1;
  const auto ops = ops_per_clock_per_sm(device.compute_major, device.compute_minor, resource);
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  cuda::Sampler sampler(bench::read_sm_clocks);
  double best_share = 0;
  for (unsigned blocks = 1; blocks <= blocks_that_fit<Tile, kKernel>(); ++blocks) {
    Launch<Tile, kKernel> launch(sms, blocks);
    launch.fill([&] { return std::clamp(kDeviation * normal(random), -127.0, 127.0); });
    launch.cancel();
    struct Timed {
      double launch_s, clock_hz;
      double cycles() const { return launch_s * clock_hz; }
    };
    // Time and clock of the same launch, since the clock moves between launches.
    const auto time = [&](int trips) {
      sampler.warm_up_for(launch.launch(trips), 0.01);
      std::vector<Timed> timed;
      for (int i = 0; i < 9; ++i) {
        const auto timing = sampler.time_batches(launch.launch(trips), 1, 1);
        timed.push_back({timing.launch_s.front(), timing.sm_clock_hz.value()});
      }
      std::ranges::sort(timed, {}, &Timed::cycles);
      return timed[timed.size() / 2];
    };
    // About half a millisecond, and twice that.
    const double trial_s = time(64).launch_s;
    const int trips = std::max(64, static_cast<int>(64 * 0.5e-3 / trial_s));
    const Timed once = time(trips), twice = time(2 * trips);
    const double rate = launch.operations(2 * trips) / twice.launch_s;
    const double per_clock = rate / twice.clock_hz / sms;
    const double share = ops ? per_clock / ops->ops : 0;
    std::printf("  %u blocks of %d: %7.1f Tops/s at %4.0f MHz, %6.0f ops/clk/SM (%.1f %%)\n",
                blocks, Tile::kThreads, rate * 1e-12, twice.clock_hz * 1e-6, per_clock,
                100 * share);
    EXPECT_NEAR(twice.cycles() / once.cycles(), 2.0, 0.08)
        << "time is not in proportion to the work";
    if (!ops) continue;
    EXPECT_LT(share, 1.005) << "more per clock than the hardware has";
    best_share = std::max(best_share, share);
  }
  if (ops) EXPECT_GT(best_share, least_share);
}

// least_share: of the documented rate per clock, to be reached.
template <class F>
void check_mma_sync(const char* resource, double tolerance, double least_share) {
  using Tile = kernels::MmaTile<F>;
  constexpr auto kKernel = kernels::mma_chains<F>;
  const DeviceFacts device = cuda::device_facts();
  if (const auto why = missing<kKernel>(device, &F::exists); !why.empty()) GTEST_SKIP() << why;
  const auto sms = static_cast<unsigned>(*device.sm_count);
  expect_exact_products<Tile, kKernel>(sms);
  expect_normal_products<Tile, kKernel>(sms, tolerance);
  expect_rate<Tile, kKernel>(device, resource, least_share);
}

template <class F>
void check_wgmma(const char* resource, double tolerance) {
  using Tile = kernels::WgmmaTile<F>;
  constexpr auto kKernel = kernels::wgmma_chains<F>;
  const DeviceFacts device = cuda::device_facts();
  if (const auto why = missing<kKernel>(device, &kernels::wgmma::exists); !why.empty())
    GTEST_SKIP() << why;
  const auto sms = static_cast<unsigned>(*device.sm_count);
  expect_exact_products<Tile, kKernel>(sms);
  expect_normal_products<Tile, kKernel>(sms, tolerance);
  expect_rate<Tile, kKernel>(device, resource, 0.95);
}

// Accumulators lose bits below their last one in each of up to 16 steps: 2^-11 of the sum in FP16,
// 2^-13 in FP8's, 2^-20 or less in the others. TF32 also drops 13 bits of each operand.
constexpr double kFp32 = 0x1p-16, kFp16 = 0x1p-7, kTf32 = 0x1p-9, kFp8 = 0x1p-9, kFp64 = 0x1p-48;
// mma.sync does not feed Hopper's units fully; elsewhere it is the only way to the units.
constexpr double kSyncShare = 0.4;

TEST(Mma, Fp16) { check_mma_sync<kernels::mma_sync::Fp16>("tensor.fp16", kFp32, kSyncShare); }
TEST(Mma, Fp16Acc16) {
  check_mma_sync<kernels::mma_sync::Fp16Acc16>("tensor.fp16", kFp16, kSyncShare);
}
TEST(Mma, Bf16) { check_mma_sync<kernels::mma_sync::Bf16>("tensor.bf16", kFp32, kSyncShare); }
TEST(Mma, Tf32) { check_mma_sync<kernels::mma_sync::Tf32>("tensor.tf32", kTf32, kSyncShare); }
TEST(Mma, Fp64) { check_mma_sync<kernels::mma_sync::Fp64>("tensor.fp64", kFp64, 0.9); }
TEST(Mma, Int8) { check_mma_sync<kernels::mma_sync::Int8>("tensor.int8", 0, kSyncShare); }
TEST(Mma, Fp8) { check_mma_sync<kernels::mma_sync::Fp8>("tensor.fp8", kFp8, kSyncShare); }

TEST(Wgmma, Fp16) { check_wgmma<kernels::wgmma::Fp16>("tensor.fp16", kFp32); }
TEST(Wgmma, Fp16Acc16) { check_wgmma<kernels::wgmma::Fp16Acc16>("tensor.fp16", kFp16); }
TEST(Wgmma, Bf16) { check_wgmma<kernels::wgmma::Bf16>("tensor.bf16", kFp32); }
TEST(Wgmma, Tf32) { check_wgmma<kernels::wgmma::Tf32>("tensor.tf32", kTf32); }
TEST(Wgmma, Fp8) { check_wgmma<kernels::wgmma::Fp8>("tensor.fp8", kFp8); }
TEST(Wgmma, Int8) { check_wgmma<kernels::wgmma::Int8>("tensor.int8", 0); }

}  // namespace
}  // namespace peakline
